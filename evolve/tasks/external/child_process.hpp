#pragma once

#include <sys/types.h>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/core/error.hpp"

namespace cambrian::evolve {

/// A program that was started ended, was silent for too long, or said what nobody understands.
class ChildFailure : public InputError {
  public:
    using InputError::InputError;
};

/// A program of somebody else's that speaks by lines: it reads what it is sent on its standard
/// input and answers on its standard output; its standard error is that of this process. It, and
/// whatever it has started in its process group, ends with this object.
class ChildProcess {
  public:
    using Deadline = std::chrono::steady_clock::time_point;

    /// @param command program and arguments, no shell between; a program without a slash is looked
    ///     for in PATH.
    /// @param directory where it starts. Throws ConfigError when it cannot be started.
    ChildProcess(const std::vector<std::string>& command, const std::string& directory);
    ~ChildProcess();
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;

    /// Sends a line. Throws ChildFailure when the program has ended or does not read in time.
    void send(std::string_view line, Deadline deadline);
    /// Reads a line without its end. Throws ChildFailure when there is none in time, when the
    /// program has ended, and for a line above 64 MiB.
    [[nodiscard]] std::string receive(Deadline deadline);

  private:
    /// Waits until the socket can be read or written; throws ChildFailure at the deadline.
    void wait(short events, Deadline deadline);
    [[noreturn]] void fail_ended() const;
    /// How it has ended, after waiting so long for that; nothing while it lives.
    [[nodiscard]] std::optional<std::string> end(std::chrono::milliseconds patience) const;

    pid_t pid_ = -1;
    int socket_ = -1;
    bool silent_ = false;   ///< It was waited for in vain.
    std::string received_;  ///< Beyond the last line that was read.
};

}  // namespace cambrian::evolve
