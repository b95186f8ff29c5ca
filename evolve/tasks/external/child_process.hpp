#pragma once

#include <sys/types.h>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cambrian/engine/core/error.hpp"

namespace cambrian::evolve {

/// A program that was started ended, was silent for too long, or said what nobody understands.
class ChildFailure : public InputError {
  public:
    explicit ChildFailure(const std::string& text) : ChildFailure(text, text) {}
    ChildFailure(const std::string& text, std::string cause)
        : InputError(text), cause_(std::move(cause)) {}

    /// Its text without what the program wrote, which may be something else each time.
    [[nodiscard]] const std::string& cause() const { return cause_; }

  private:
    std::string cause_;
};

/// It was silent for too long.
class ChildSilence : public ChildFailure {
  public:
    using ChildFailure::ChildFailure;
};

/// It said more than it was asked, which may have been read as the answer to something else.
class ChildExcess : public ChildFailure {
  public:
    using ChildFailure::ChildFailure;
};

/// What becomes of the standard error of a program: it is this process's own, or nobody sees it but
/// for its end, which the failure of a program that ends tells.
enum class ErrorOutput : std::uint8_t { shown, hidden };

/// A program of somebody else's: it reads what it is sent on its standard input and answers on its
/// standard output, in lines or in frames (four bytes that say how many follow, the highest first);
/// its standard error is that of this process, or hidden. It, and whatever it has started in its
/// process group, ends with this object.
class ChildProcess {
  public:
    using Deadline = std::chrono::steady_clock::time_point;

    /// @param command program and arguments, no shell between; a program without a slash is looked
    ///     for in PATH.
    /// @param directory where it starts. Throws ConfigError when it cannot be started.
    ChildProcess(const std::vector<std::string>& command, const std::string& directory,
                 ErrorOutput errors = ErrorOutput::shown);
    ~ChildProcess();
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;

    /// A line or a frame of an answer has at most so many bytes.
    static constexpr std::size_t longest_answer = std::size_t{64} << 20U;

    // All throw ChildFailure when the program has ended, ChildSilence when it neither reads nor
    // answers in time.

    void send_line(std::string text, Deadline deadline);
    /// Throws InputError for a message that four bytes cannot measure.
    void send_frame(std::string_view bytes, Deadline deadline);
    /// A line without its end. Throws ChildFailure for one above longest_answer.
    [[nodiscard]] std::string receive_line(Deadline deadline);
    /// The end of its input tells the program to end; the destructor waits for that.
    void hang_up();
    /// What follows the length. Throws ChildFailure for a length above longest_answer.
    [[nodiscard]] std::string receive_frame(Deadline deadline);
    /// Throws ChildFailure when the program has said something that nobody asked for: ChildExcess
    /// unless it is text that is no answer. What is still on its way is not seen.
    /// @param frames whether it speaks in frames, else in lines.
    void require_silence(bool frames) const;

  private:
    void send(std::string_view bytes, Deadline deadline);
    /// Adds to what was received, after waiting where nothing has come.
    void receive_more(Deadline deadline);
    /// The first bytes of what was received, and no longer of it.
    [[nodiscard]] std::string take(std::size_t count);
    /// Waits until the socket can be read or written; throws ChildFailure at the deadline.
    void wait(short events, Deadline deadline);
    [[noreturn]] void fail_ended();
    /// How it has ended, after waiting until then; nothing while it lives.
    [[nodiscard]] std::optional<std::string> end(Deadline deadline);
    /// Takes what has come of its standard error, so that it does not wait to write more.
    void read_errors();

    pid_t pid_ = -1;
    int socket_ = -1;
    int errors_ = -1;                 ///< Its standard error, unless that is shown.
    bool silent_ = false;             ///< It was waited for in vain.
    std::optional<Deadline> end_by_;  ///< Once it was told to end.
    std::string received_;            ///< Beyond the last answer that was read.
    std::string last_errors_;         ///< The end of its standard error.
};

}  // namespace cambrian::evolve
