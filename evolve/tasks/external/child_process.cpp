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

namespace cambrian::evolve {
namespace {

constexpr std::size_t frame_head = 4;  ///< Bytes that say how many follow.
constexpr std::chrono::milliseconds patience_at_end{500};

/// The two ends of a connection, closed unless they are taken.
struct SocketPair {
    std::array<int, 2> ends{-1, -1};

    SocketPair() {
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
            throw InputError(
                fmt::format("no connection to a program could be made ({}) let fewer "
                            "files be open at once",
                            std::strerror(errno)));
    }
    ~SocketPair() {
        for (const int end : ends)
            if (end >= 0) close(end);
    }
    SocketPair(const SocketPair&) = delete;
    SocketPair& operator=(const SocketPair&) = delete;
};

/// How a program is started: in a folder, as a process group of its own, with the usual signals.
class SpawnSettings {
  public:
    SpawnSettings(int connection, const std::string& directory, ErrorOutput errors) {
        posix_spawn_file_actions_init(&actions_);
        posix_spawn_file_actions_adddup2(&actions_, connection, STDIN_FILENO);
        posix_spawn_file_actions_adddup2(&actions_, connection, STDOUT_FILENO);
        if (errors == ErrorOutput::hidden)
            posix_spawn_file_actions_addopen(&actions_, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
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
    SocketPair pair;
    pid_ = SpawnSettings(pair.ends[1], directory, errors).spawn(command);
    socket_ = std::exchange(pair.ends[0], -1);
    fcntl(socket_, F_SETFL, fcntl(socket_, F_GETFL) | O_NONBLOCK);
}

ChildProcess::~ChildProcess() {
    hang_up();
    if (!silent_) static_cast<void>(end(*end_by_));
    close(socket_);
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

std::optional<std::string> ChildProcess::end(Deadline deadline) const {
    for (;;) {
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

void ChildProcess::fail_ended() const {
    throw ChildFailure(
        fmt::format("the program is gone ({}) look at what it wrote to its standard error",
                    end(std::chrono::steady_clock::now() + patience_at_end)
                        .value_or("it has closed its input or output")));
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
        pollfd waiting{socket_, events, 0};
        const auto milliseconds = std::min<std::int64_t>(left.count() + 1, 1000);
        if (poll(&waiting, 1, static_cast<int>(milliseconds)) > 0) return;
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
