#include "cambrian/evolve/tasks/external/child_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <system_error>
#include <thread>
#include <utility>

#include "cambrian/engine/core/message_text.hpp"

namespace cambrian::evolve {
namespace {

constexpr std::size_t frame_head = 4;  ///< Bytes that say how many follow.
constexpr std::chrono::milliseconds patience_at_end{500};
constexpr std::size_t told_errors = 300;  ///< Bytes of a standard error that a message shows.

/// The two ends of a connection, closed unless they are taken.
struct EndPair {
    std::array<int, 2> ends{-1, -1};

    /// @param open makes them, or returns -1.
    template <class Open>
    explicit EndPair(const Open& open) {
        if (open(ends.data()) != 0)
            throw InputError(
                fmt::format("no connection to a program could be made ({}) let fewer "
                            "files be open at once",
                            std::strerror(errno)));
    }
    ~EndPair() {
        for (const int end : ends)
            if (end >= 0) close(end);
    }
    EndPair(const EndPair&) = delete;
    EndPair& operator=(const EndPair&) = delete;
};

void set_nonblocking(int end) {
    fcntl(end, F_SETFL, fcntl(end, F_GETFL) | O_NONBLOCK);
}

/// How a program is started: in a folder, as a process group of its own, with the usual signals.
class SpawnSettings {
  public:
    /// @param errors its standard error; -1: that of this process.
    SpawnSettings(int connection, const std::string& directory, int errors) {
        posix_spawn_file_actions_init(&actions_);
        posix_spawn_file_actions_adddup2(&actions_, connection, STDIN_FILENO);
        posix_spawn_file_actions_adddup2(&actions_, connection, STDOUT_FILENO);
        if (errors >= 0) posix_spawn_file_actions_adddup2(&actions_, errors, STDERR_FILENO);
        if (!directory.empty()) posix_spawn_file_actions_addchdir_np(&actions_, directory.c_str());
        posix_spawnattr_init(&attributes_);
        sigset_t all;
        sigfillset(&all);
        posix_spawnattr_setsigdefault(&attributes_, &all);
        sigset_t none;
        sigemptyset(&none);
        posix_spawnattr_setsigmask(&attributes_, &none);
        posix_spawnattr_setpgroup(&attributes_, 0);
        posix_spawnattr_setflags(
            &attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    }
    ~SpawnSettings() {
        posix_spawnattr_destroy(&attributes_);
        posix_spawn_file_actions_destroy(&actions_);
    }
    SpawnSettings(const SpawnSettings&) = delete;
    SpawnSettings& operator=(const SpawnSettings&) = delete;

    [[nodiscard]] pid_t spawn(const std::vector<std::string>& command) const {
        std::vector<std::string> copies(command);
        std::vector<char*> arguments;
        for (std::string& argument : copies) arguments.push_back(argument.data());
        arguments.push_back(nullptr);
        pid_t pid = -1;
        const int error =
            posix_spawnp(&pid, arguments[0], &actions_, &attributes_, arguments.data(), environ);
        if (error != 0)
            throw ConfigError(fmt::format(
                "{} could not be started ({}) give the program and its arguments as a list, the "
                "program with its path or one that PATH finds",
                command.front(), std::strerror(error)));
        return pid;
    }

  private:
    posix_spawn_file_actions_t actions_{};
    posix_spawnattr_t attributes_{};
};

/// The system tells of a folder that is missing as of a program that is.
void check_folder(const std::string& directory) {
    std::error_code error;
    if (directory.empty() || std::filesystem::is_directory(directory, error)) return;
    throw ConfigError(fmt::format(
        "no program can start in {} ({}) set run.base_directory to the full path of the folder "
        "where relative paths start",
        directory, error ? error.message() : "it is no folder"));
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& command, const std::string& directory,
                           ErrorOutput errors) {
    if (command.empty() || command.front().empty())
        throw ConfigError("a program without a name (the list is empty) name the program first");
    check_folder(directory);
    EndPair pair(
        [](int* ends) { return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends); });
    EndPair kept(
        [errors](int* ends) { return errors == ErrorOutput::hidden ? pipe2(ends, O_CLOEXEC) : 0; });
    pid_ = SpawnSettings(pair.ends[1], directory, kept.ends[1]).spawn(command);
    socket_ = std::exchange(pair.ends[0], -1);
    set_nonblocking(socket_);
    errors_ = std::exchange(kept.ends[0], -1);
    if (errors_ >= 0) set_nonblocking(errors_);
}

ChildProcess::~ChildProcess() {
    hang_up();
    if (!silent_) static_cast<void>(end(*end_by_));
    close(socket_);
    if (errors_ >= 0) close(errors_);
    // Before it is waited for: until then nobody else can have its number.
    kill(-pid_, SIGKILL);
    kill(pid_, SIGKILL);  // It may have left its group.
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
}

void ChildProcess::hang_up() {
    if (end_by_) return;
    shutdown(socket_, SHUT_RDWR);
    end_by_ = std::chrono::steady_clock::now() + patience_at_end;
}

std::optional<std::string> ChildProcess::end(Deadline deadline) {
    for (;;) {
        read_errors();
        siginfo_t info{};
        if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
            info.si_pid == pid_)
            return info.si_code == CLD_EXITED
                       ? fmt::format("it ended with exit code {}", info.si_status)
                       : fmt::format("signal {} ended it", info.si_status);
        if (std::chrono::steady_clock::now() >= deadline) return std::nullopt;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

void ChildProcess::fail_ended() {
    const std::string how = end(std::chrono::steady_clock::now() + patience_at_end)
                                .value_or("it has closed its input or output");
    read_errors();  // What it wrote before it ended.
    std::string errors = last_errors_.substr(0, last_errors_.find_last_not_of(" \n") + 1);
    std::string cause =
        fmt::format("the program is gone ({}) look at what it wrote to its standard error", how);
    if (errors.empty()) throw ChildFailure(cause);
    std::ranges::replace(errors, '\n', ' ');
    throw ChildFailure(
        fmt::format(
            "the program is gone ({}, and its standard error with \"{}\") see what that says", how,
            shortened(errors, told_errors)),
        std::move(cause));
}

void ChildProcess::read_errors() {
    constexpr int max_blocks = 64;  // It may write without end.
    for (int i = 0; i < max_blocks && errors_ >= 0; ++i) {
        std::array<char, 4096> block;
        const ssize_t count = read(errors_, block.data(), block.size());
        if (count > 0) {
            last_errors_.append(block.data(), static_cast<std::size_t>(count));
            if (last_errors_.size() > told_errors)
                last_errors_.erase(0, last_errors_.size() - told_errors);
        } else if (count == 0) {
            close(std::exchange(errors_, -1));
        } else if (errno != EINTR) {
            return;
        }
    }
}

void ChildProcess::wait(short events, Deadline deadline) {
    for (;;) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
            deadline - std::chrono::steady_clock::now());
        if (left.count() <= 0) {
            silent_ = true;
            throw ChildSilence(
                "the program gave no answer in time (task.seconds) let it be quicker, or set "
                "task.seconds higher");
        }
        std::array waiting{pollfd{socket_, events, 0}, pollfd{errors_, POLLIN, 0}};
        const auto milliseconds = std::min<std::int64_t>(left.count() + 1, 1000);
        if (poll(waiting.data(), waiting.size(), static_cast<int>(milliseconds)) <= 0) continue;
        if (waiting[1].revents != 0) read_errors();
        if (waiting[0].revents != 0) return;
    }
}

void ChildProcess::require_silence(bool frames) const {
    char more = received_.empty() ? '\0' : received_.front();
    if (received_.empty() && recv(socket_, &more, 1, MSG_PEEK | MSG_DONTWAIT) <= 0) return;
    const std::string text =
        "the program said more than it was asked (one answer follows a message) write nothing "
        "else to standard output";
    // Nothing takes another line than that of an object for an answer.
    if (!frames && more != '{') throw ChildFailure(text);
    throw ChildExcess(text);
}

void ChildProcess::send_line(std::string text, Deadline deadline) {
    require_silence(false);
    text += '\n';
    send(text, deadline);
}

void ChildProcess::send_frame(std::string_view bytes, Deadline deadline) {
    require_silence(true);
    if (bytes.size() > std::numeric_limits<std::uint32_t>::max())
        throw InputError(fmt::format(
            "a message for a program has {} bytes (a frame has at most 4 GiB) let less be asked at "
            "once",
            bytes.size()));
    std::string frame;
    frame.reserve(frame_head + bytes.size());
    for (std::size_t byte = frame_head; byte-- > 0;)
        frame += static_cast<char>((bytes.size() >> (8 * byte)) & 0xFFU);
    frame += bytes;  // At once: a program that waits is woken once.
    send(frame, deadline);
}

void ChildProcess::send(std::string_view bytes, Deadline deadline) {
    while (!bytes.empty()) {
        const ssize_t count = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (count >= 0) {
            bytes.remove_prefix(static_cast<std::size_t>(count));
        } else if (errno == EAGAIN) {
            wait(POLLOUT, deadline);
        } else if (errno != EINTR) {
            fail_ended();
        }
    }
}

void ChildProcess::receive_more(Deadline deadline) {
    for (;;) {
        std::array<char, 65536> block;
        const ssize_t count = recv(socket_, block.data(), block.size(), 0);
        if (count > 0) {
            received_.append(block.data(), static_cast<std::size_t>(count));
            return;
        }
        if (count < 0 && errno == EAGAIN)
            wait(POLLIN, deadline);
        else if (count == 0 || errno != EINTR)
            fail_ended();
    }
}

std::string ChildProcess::take(std::size_t count) {
    std::string first = received_.substr(0, count);
    received_.erase(0, count);
    return first;
}

std::string ChildProcess::receive_line(Deadline deadline) {
    for (std::size_t searched = 0;;) {
        if (const std::size_t end = received_.find('\n', searched); end != std::string::npos) {
            std::string line = take(end + 1);
            line.pop_back();
            return line;
        }
        searched = received_.size();
        if (searched > longest_answer)
            throw ChildFailure(
                "the program answered a line above 64 MiB (no answer is that long) write one JSON "
                "object a line");
        receive_more(deadline);
    }
}

std::string ChildProcess::receive_frame(Deadline deadline) {
    while (received_.size() < frame_head) receive_more(deadline);
    std::size_t length = 0;
    for (const char byte : take(frame_head))
        length = (length << 8U) | static_cast<unsigned char>(byte);
    if (length > longest_answer)
        throw ChildFailure(fmt::format(
            "the program announced a frame of {} bytes (no answer is above 64 MiB) write four "
            "bytes with the length of what follows, the highest first, and nothing else to "
            "standard output",
            length));
    while (received_.size() < length) receive_more(deadline);
    return take(length);
}

}  // namespace cambrian::evolve
