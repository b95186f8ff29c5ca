#include "cambrian/engine/io/private_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <system_error>
#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/io/container.hpp"

namespace cambrian {

namespace {

constexpr mode_t written_by_others = S_IWGRP | S_IWOTH;

void require_own(const std::filesystem::path& path, const struct stat& status) {
    const auto refuse = [&path](const std::string& why, const std::string& remedy) {
        throw ConfigError(
            fmt::format("the cache directory {} cannot be trusted ({}) {}name another with "
                        "engine.cache_directory",
                        path.string(), why, remedy));
    };
    if (status.st_uid != ::geteuid())
        refuse(fmt::format("it belongs to user {}, this program runs as {}", status.st_uid,
                           ::geteuid()),
               "");
    if ((status.st_mode & written_by_others) != 0)
        refuse(
            fmt::format("others may write there, its mode is {:o}", status.st_mode & mode_t{07777}),
            fmt::format("run 'chmod go-w {}', or ", path.string()));
}

/// Whether an open file can only have been written by this user.
bool is_own_file(int file) {
    struct stat status {};
    return ::fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid() &&
           (status.st_mode & written_by_others) == 0;
}

}  // namespace

PrivateFolder::PrivateFolder(std::filesystem::path path) : path_(std::move(path)) {
    if (path_.empty()) return;
    std::error_code ignored;
    if (path_.has_parent_path()) std::filesystem::create_directories(path_.parent_path(), ignored);
    ::mkdir(path_.c_str(), S_IRWXU);
    struct stat status {};
    if (::stat(path_.c_str(), &status) == 0 && S_ISDIR(status.st_mode))
        require_own(path_, status);
    else
        path_.clear();
}

std::filesystem::path PrivateFolder::file(std::string_view name) const {
    CAMBRIAN_ASSERT(keeps());
    return path_ / name;
}

std::optional<std::vector<std::byte>> PrivateFolder::read(std::string_view name,
                                                          std::uint64_t most) const {
    if (!keeps()) return std::nullopt;
    const std::filesystem::path path = file(name);
    // Opened once to look at it, without following a link or waiting for a pipe.
    const int opened = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (opened < 0) return std::nullopt;
    const bool own = is_own_file(opened);
    ::close(opened);
    if (!own) return std::nullopt;
    try {
        // Nobody else can put another file there: the folder is this user's.
        return read_file(path, most);
    } catch (const InputError&) {
        return std::nullopt;
    }
}

void PrivateFolder::write(std::string_view name, std::span<const std::byte> bytes) const {
    if (!keeps()) return;
    const std::filesystem::path path = file(name);
    // What takes its place would have its permissions, and be ignored like it.
    struct stat before {};
    if (::lstat(path.c_str(), &before) == 0 && (before.st_mode & written_by_others) != 0)
        ::unlink(path.c_str());
    try {
        write_file_atomically(path, bytes);
    } catch (const InputError&) {
        // It only saves time: without it the next process makes the file again.
    }
}

}  // namespace cambrian
