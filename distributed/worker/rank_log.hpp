#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cambrian::distributed {

/// logs/rank-N.log of a run directory: only rank 0 speaks on the console. Falls to standard error,
/// and says so, where the file cannot be opened.
class RankLog {
  public:
    RankLog(std::filesystem::path directory, int rank);
    /// Says on standard error what waited in vain.
    ~RankLog();
    RankLog(const RankLog&) = delete;
    RankLog& operator=(const RankLog&) = delete;

    /// The coordinator has the directory: until then it may be that of another run, so lines wait.
    void begin();
    /// The same in a run that has its folders: one that was moved away is not made anew, and lines
    /// that cannot be written to it are lost.
    void go_on();
    [[nodiscard]] bool begun() const { return begun_; }
    /// The file is opened by the first line, so a rank that is refused leaves no trace.
    void line(std::string_view text);

  private:
    struct Logger;
    void write(std::string_view text);

    std::filesystem::path directory_;
    int rank_;
    bool begun_ = false;
    bool goes_on_ = false;
    std::vector<std::string> waiting_;
    std::unique_ptr<Logger> logger_;
};

}  // namespace cambrian::distributed
