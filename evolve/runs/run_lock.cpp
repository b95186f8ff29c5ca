#include "cambrian/evolve/runs/run_lock.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>
#include <thread>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/runs/own_file.hpp"

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

/// Whether the lock is ours now. Waits a moment for whoever only asks (holder_of_run).
bool try_lock(int file) {
    constexpr int attempts = 5;
    constexpr std::chrono::milliseconds pause{20};
    for (int i = 0; i < attempts; ++i) {
        if (::flock(file, LOCK_EX | LOCK_NB) == 0) {
            return true;
        }
        std::this_thread::sleep_for(pause);
    }
    return false;
}

}  // namespace

RunLock::RunLock(const fs::path& directory)
    : file_(open_own_file(directory / lock_name, O_RDWR | O_CREAT)) {
    if (!try_lock(file_)) {
        const std::string holder = holder_of(file_);
        ::close(file_);
        throw ConfigError(
            fmt::format("the run directory {} is in use ({} holds its lock) wait for "
                        "it or choose another run.directory",
                        directory.string(), holder));
    }
    const std::string owner = fmt::format("{} on {}\n", ::getpid(), host_name());
    // The words only serve messages; the lock itself is the system's.
    if (::ftruncate(file_, 0) != 0 || ::pwrite(file_, owner.data(), owner.size(), 0) < 0) {
        const std::string why = std::strerror(errno);
        ::close(file_);
        throw ConfigError(fmt::format("the lock of {} cannot be written ({}) check the disk",
                                      directory.string(), why));
    }
}

RunLock::~RunLock() {
    ::close(file_);
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
        throw InputError(fmt::format("the lock of {} cannot be asked ({}) ask on its host",
                                     directory.string(), std::strerror(error)));
    }
    return holder;
}

}  // namespace cambrian::distributed
