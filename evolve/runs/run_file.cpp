#include "cambrian/evolve/runs/run_file.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/io/container.hpp"
#include "cambrian/engine/io/durability.hpp"

namespace cambrian::distributed {

namespace {

[[noreturn]] void refuse(const std::filesystem::path& path, const char* what, int error = errno) {
    const bool full = error == ENOSPC || error == EDQUOT;
    throw OutputError(fmt::format("{} cannot be {} ({}) {}", path.string(), what,
                                  std::strerror(error),
                                  full ? "free space, then ask 'cambrian status' how to go on"
                                       : "check the disk and its permissions"));
}

/// Writes a file that was just opened and closes it. 0, or the error number.
int write_and_close(int file, std::string_view text) {
    const int error = write_all(file, std::as_bytes(std::span(text)));
    return ::close(file) != 0 && error == 0 ? errno : error;
}

/// Writes over a file without asking for room on the disk. False where it needs more than it has,
/// and nothing was touched.
bool write_over(const std::filesystem::path& path, std::string_view text) {
    constexpr std::uint64_t unit = 512;  // Of st_blocks, on every system.
    const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat status {};
    if (file < 0 || ::fstat(file, &status) != 0 || !S_ISREG(status.st_mode) ||
        static_cast<std::uint64_t>(status.st_blocks) * unit < text.size()) {
        ::close(file);
        return false;
    }
    const bool cut = ::ftruncate(file, static_cast<off_t>(text.size())) == 0;
    return write_and_close(file, text) == 0 && cut;
}

/// Whether a file was not opened since it is a link itself: there may be a circle of links on the
/// way to it, too.
bool is_refused_link(int error, const std::filesystem::path& path) {
    std::error_code ignored;
    return error == ELOOP && std::filesystem::is_symlink(path, ignored);
}

}  // namespace

int open_own_file(const std::filesystem::path& path, int flags) {
    const int file = ::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
    const int error = file < 0 ? errno : 0;
    if (is_refused_link(error, path)) {
        throw InputError(fmt::format(
            "{} cannot be opened (it is a symbolic link, which is not followed in a run directory) "
            "put the file itself there, or remove it",
            path.string()));
    }
    struct stat status {};
    // Nobody reads a pipe that gives ENXIO.
    const bool other =
        file < 0 ? error == ENXIO : ::fstat(file, &status) == 0 && !S_ISREG(status.st_mode);
    if (other) {
        ::close(file);
        throw InputError(
            fmt::format("{} cannot be opened (it is not a regular file) remove it", path.string()));
    }
    if (file < 0) {
        throw OutputError(fmt::format("{} cannot be opened ({}) check the disk and its permissions",
                                      path.string(), std::generic_category().message(error)));
    }
    return file;
}

std::optional<std::string> read_text_file(const std::filesystem::path& path,
                                          std::uint64_t longest) {
    std::error_code unknown;
    if (!std::filesystem::exists(path, unknown) && !unknown) {
        return std::nullopt;
    }
    const std::vector<std::byte> bytes = read_file(path, longest);
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void replace_text(const std::filesystem::path& path, std::string_view text) {
    const std::filesystem::path temporary = path.string() + ".new";
    constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    const int file = ::open(temporary.c_str(), flags, 0644);
    int error = file < 0 ? errno : write_and_close(file, text);
    if (is_refused_link(error, temporary)) {
        throw OutputError(
            fmt::format("{} cannot be written (it is a symbolic link, which is not followed in a "
                        "run directory) remove it",
                        temporary.string()));
    }
    if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) {
        error = errno;
    }
    if (error == 0) {
        return;
    }
    // Half a file must not replace a whole one.
    ::unlink(temporary.c_str());
    // A limit on the size of files would cut the old one, too.
    if (error == EFBIG || !write_over(path, text)) {
        throw OutputError(
            fmt::format("{} cannot be written ({}) check the disk and its permissions",
                        path.string(), std::generic_category().message(error)));
    }
}

std::uint64_t whole_lines(const std::filesystem::path& path, std::uint64_t length,
                          std::string_view header) {
    if (std::error_code ignored; !std::filesystem::is_regular_file(path, ignored)) {
        return 0;
    }
    std::uint64_t whole = 0;
    std::ifstream file(path, std::ios::binary);
    for (std::string line; std::getline(file, line) && !file.eof();) {
        const bool of_another_version = whole == 0 && !header.empty() && line + '\n' != header;
        if (of_another_version || whole + line.size() + 1 > length) {
            break;
        }
        whole += line.size() + 1;
    }
    return whole;
}

bool FilePrefix::read(int file, std::uint64_t length) {
    if (length < length_) {
        hash_.reset();
        length_ = 0;
    }
    std::array<std::byte, std::size_t{1} << 16U> block;
    while (length_ < length) {
        const auto wanted = std::min<std::uint64_t>(block.size(), length - length_);
        const ssize_t count = ::pread(file, block.data(), static_cast<std::size_t>(wanted),
                                      static_cast<off_t>(length_));
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            return false;
        }
        add(std::span(block).first(static_cast<std::size_t>(count)));
    }
    return true;
}

void FilePrefix::add(std::span<const std::byte> bytes) {
    hash_.add(bytes);
    length_ += bytes.size();
}

bool unchanged(const std::filesystem::path& path, std::uint64_t length, const Hash128& checksum,
               Content content, FilePrefix& known) {
    if (length == 0) {
        return true;
    }
    const int file = open_own_file(path, O_RDONLY);
    char last = '\0';
    const bool whole = ::pread(file, &last, 1, static_cast<off_t>(length - 1)) == 1 &&
                       (content == Content::blocks || last == '\n') && known.read(file, length);
    ::close(file);
    return whole && known.checksum() == checksum;
}

bool unchanged(const std::filesystem::path& path, std::uint64_t length, const Hash128& checksum,
               Content content) {
    FilePrefix nothing;
    return unchanged(path, length, checksum, content, nothing);
}

std::string changed_text(const std::filesystem::path& path) {
    return fmt::format(
        "{} is not as its checkpoint left it (it was edited, or saved with other line ends) put "
        "the "
        "original back, or start in another directory",
        path.string());
}

AppendFile::AppendFile(std::filesystem::path path, std::uint64_t length, FilePrefix known)
    : path_(std::move(path)),
      file_(open_own_file(path_, O_RDWR | O_CREAT)),
      written_(std::move(known)) {
    try {
        if (!written_.read(file_, length)) {
            throw InputError(
                fmt::format("{} is shorter than its checkpoint says (its end was lost) use "
                            "an older checkpoint or start in another directory",
                            path_.string()));
        }
        cut(length);
    } catch (...) {
        ::close(file_);
        throw;
    }
}

AppendFile::~AppendFile() {
    ::close(file_);
}

void AppendFile::cut(std::uint64_t length) {
    const auto end = static_cast<off_t>(length);
    if (::ftruncate(file_, end) != 0 || ::lseek(file_, end, SEEK_SET) != end) {
        refuse(path_, "cut to its checkpoint");
    }
    if (!written_.read(file_, length)) {
        refuse(path_, "read");
    }
}

void AppendFile::flush() {
    const auto bytes = std::as_bytes(std::span(pending_));
    if (const int error = write_all(file_, bytes); error != 0) {
        refuse(path_, "written", error);
    }
    written_.add(bytes);
    pending_.clear();
}

void AppendFile::sync() {
    flush();
    if (syncs_files() && ::fdatasync(file_) != 0) {
        refuse(path_, "synced");
    }
}

}  // namespace cambrian::distributed
