#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

namespace cambrian::distributed {

/// logs/rank-N.log of a run directory: only rank 0 speaks on the console. Falls to standard error,
/// and says so, where the file cannot be opened.
class RankLog {
  public:
    RankLog(std::filesystem::path directory, int rank);
    ~RankLog();
    RankLog(const RankLog&) = delete;
    RankLog& operator=(const RankLog&) = delete;

    /// The file is opened by the first line, so a rank that is refused leaves no trace.
    void line(std::string_view text);

  private:
    struct Logger;
    std::filesystem::path directory_;
    int rank_;
    std::unique_ptr<Logger> logger_;
};

}  // namespace cambrian::distributed
