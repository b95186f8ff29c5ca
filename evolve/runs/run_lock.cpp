#include "cambrian/evolve/runs/run_lock.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <sstream>
#include <system_error>
#include <thread>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/runs/run_file.hpp"

namespace cambrian::distributed {

namespace fs = std::filesystem;

namespace {

constexpr const char* lock_name = "lock";

std::string holder_of(int lock) {
    std::array<char, 300> text{};
    const ssize_t length = ::pread(lock, text.data(), text.size() - 1, 0);
    std::string holder(text.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
    std::erase_if(holder, [](char c) { return c < ' '; });
    return holder.empty() ? "another process" : "process " + holder;
}

std::string host_name() {
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : "a host";
}

/// What the system says of a process of this host: a letter for its state, and when it began, in
/// ticks since the host did. Nothing where it is gone.
struct ProcessStanding {
    char state = '?';
    std::uint64_t begun = 0;
};

std::optional<ProcessStanding> standing_of(pid_t process) {
    std::ifstream file(fmt::format("/proc/{}/stat", process));
    std::string text;
    std::getline(file, text);
    // The name before it may hold anything.
    const std::size_t name_end = text.rfind(')');
    if (name_end == std::string::npos) {
        return std::nullopt;
    }
    std::istringstream fields(text.substr(name_end + 1));
    ProcessStanding standing;
    fields >> standing.state;
    constexpr int between = 18;  // From the third field, the state, to the 22nd.
    std::string ignored;
    for (int i = 0; i < between; ++i) {
        fields >> ignored;
    }
    fields >> standing.begun;
    return fields ? std::optional(standing) : std::nullopt;
}

/// "71 on node3 since tick 12345": who holds the lock.
std::string own_words() {
    const auto standing = standing_of(::getpid());
    return fmt::format("{} on {} since tick {}\n", ::getpid(), host_name(),
                       standing ? standing->begun : 0);
}

/// Takes the lock: 0, or the error number. Waits a moment for whoever only asks (holder_of_run).
int try_lock(int file) {
    constexpr int attempts = 5;
    constexpr std::chrono::milliseconds pause{20};
    for (int i = 0; i < attempts; ++i) {
        if (::flock(file, LOCK_EX | LOCK_NB) == 0) {
            return 0;
        }
        if (errno != EWOULDBLOCK) {
            return errno;
        }
        std::this_thread::sleep_for(pause);
    }
    return EWOULDBLOCK;
}

}  // namespace

RunLock::RunLock(const fs::path& directory)
    : file_(open_own_file(directory / lock_name, O_RDWR | O_CREAT)) {
    if (const int error = try_lock(file_); error != 0 && error != EWOULDBLOCK) {
        ::close(file_);
        throw ConfigError(
            fmt::format("the run directory {} cannot be locked ({}) choose a run.directory on a "
                        "file system with locks",
                        directory.string(), std::strerror(error)));
    } else if (error != 0) {
        const std::string holder = holder_of(file_);
        ::close(file_);
        throw LockHeld(
            fmt::format("the run directory {} is in use ({} holds its lock) wait for "
                        "it or choose another run.directory",
                        directory.string(), holder));
    }
    const std::string owner = own_words();
    // The words serve messages and kill_stopped_holder; the lock itself is the system's.
    if (::ftruncate(file_, 0) != 0 || ::pwrite(file_, owner.data(), owner.size(), 0) < 0) {
        const std::string why = std::strerror(errno);
        ::close(file_);
        throw OutputError(fmt::format("the lock of {} cannot be written ({}) check the disk",
                                      directory.string(), why));
    }
}

bool RunLock::is_of(const fs::path& directory) const {
    struct stat own {};
    struct stat found {};
    return ::fstat(file_, &own) == 0 && ::stat((directory / lock_name).c_str(), &found) == 0 &&
           own.st_dev == found.st_dev && own.st_ino == found.st_ino;
}

RunLock::~RunLock() {
    ::close(file_);
}

std::optional<std::string> kill_stopped_holder(const fs::path& directory) {
    const auto holder = holder_of_run(directory);
    std::istringstream words(holder.value_or(""));
    std::string what, on, host, since, tick;
    pid_t process = 0;
    std::uint64_t begun = 0;
    words >> what >> process >> on >> host >> since >> tick >> begun;
    if (!words || process <= 1 || begun == 0 || host != host_name()) {
        return std::nullopt;
    }
    // A handle first: what is looked at is what is killed, whatever becomes of the number.
    const auto handle = static_cast<int>(::syscall(SYS_pidfd_open, process, 0));
    const auto standing = handle < 0 ? std::nullopt : standing_of(process);
    const bool same = standing && standing->begun == begun && standing->state == 'T';
    const bool killed = same && ::syscall(SYS_pidfd_send_signal, handle, SIGKILL, nullptr, 0) == 0;
    if (handle >= 0) {
        ::close(handle);
    }
    return killed ? holder : std::nullopt;
}

std::optional<std::string> holder_of_run(const fs::path& directory) {
    std::error_code missing;
    if (!fs::exists(directory / lock_name, missing) && !missing) {
        return std::nullopt;
    }
    const int file = open_own_file(directory / lock_name, O_RDONLY);
    std::optional<std::string> holder;
    const int error = ::flock(file, LOCK_SH | LOCK_NB) == 0 ? 0 : errno;
    if (error != 0) {
        holder = holder_of(file);
    }
    ::close(file);
    if (error != 0 && error != EWOULDBLOCK) {
        throw OutputError(fmt::format("the lock of {} cannot be asked ({}) ask on its host",
                                      directory.string(), std::strerror(error)));
    }
    return holder;
}

}  // namespace cambrian::distributed
