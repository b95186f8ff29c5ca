#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/number_text.hpp"
#include "cambrian/engine/io/container.hpp"
#include "cambrian/engine/io/durability.hpp"
#include "cambrian/engine/io/input_file.hpp"

// Whole files, on POSIX systems.
namespace cambrian {

namespace {

/// The text of an error number, without the shared buffer of std::strerror.
std::string reason(int number) {
    return std::generic_category().message(number);
}

[[noreturn]] void fail_write(const std::filesystem::path& path, int number) {
    throw OutputError(path.string() + " cannot be written (" + reason(number) +
                      ") free space or choose another place");
}

[[noreturn]] void fail_read(const std::filesystem::path& path, const std::string& why) {
    throw InputError(path.string() + " cannot be read (" + why + ") name an existing file");
}

/// A file that was not opened: there is none, or the system refuses one that may be sound.
[[noreturn]] void fail_open(const std::filesystem::path& path, int number) {
    if (number != EACCES && number != EMFILE && number != ENFILE && number != ENOMEM &&
        number != ESTALE && number != EWOULDBLOCK)
        fail_read(path, reason(number));
    throw OutputError(path.string() + " cannot be read (" + reason(number) +
                      ") check the disk and its permissions");
}

/// What a file is that is no regular one.
const char* kind(mode_t mode) {
    if (S_ISDIR(mode)) return "a directory";
    if (S_ISFIFO(mode)) return "a pipe";
    return S_ISSOCK(mode) ? "a socket" : "a device";
}

/// An open file, closed with the object.
class Descriptor {
  public:
    explicit Descriptor(int number) : number_(number) {}
    ~Descriptor() {
        if (number_ >= 0) ::close(number_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }

    [[nodiscard]] int number() const { return number_; }
    [[nodiscard]] bool open() const { return number_ >= 0; }
    [[nodiscard]] int release() { return std::exchange(number_, -1); }
    /// 0, or the error number: a full disk may only be told at the end.
    [[nodiscard]] int close() { return ::close(std::exchange(number_, -1)) == 0 ? 0 : errno; }

  private:
    int number_;
};

/// Makes a rename in the folder last. Some file systems cannot sync a folder; that is no error.
int sync_folder(const std::filesystem::path& folder) {
    if (!syncs_files()) return 0;
    const Descriptor file(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!file.open()) return errno;
    return ::fsync(file.number()) == 0 || errno == EINVAL ? 0 : errno;
}

/// A file that is written beside its target and takes its place when it is whole, with the
/// permissions that the target had. Throws InputError where the system refuses, and then leaves the
/// target as it was.
class PartialFile {
  public:
    explicit PartialFile(const std::filesystem::path& target)
        : target_(target),
          partial_(target.string() + ".partial." + std::to_string(::getpid())),
          file_(open_partial()) {}
    ~PartialFile() {
        if (!whole_) ::unlink(partial_.c_str());
    }
    PartialFile(const PartialFile&) = delete;
    PartialFile& operator=(const PartialFile&) = delete;

    void write(std::span<const std::byte> bytes) {
        if (const int error = write_all(file_.number(), bytes); error != 0)
            fail_write(target_, error);
    }
    void replace_target() {
        int error = syncs_files() && ::fsync(file_.number()) != 0 ? errno : file_.close();
        if (error == 0 && ::rename(partial_.c_str(), target_.c_str()) != 0) error = errno;
        if (error != 0) fail_write(target_, error);
        whole_ = true;
        const std::filesystem::path folder = target_.parent_path();
        if (const int synced = sync_folder(folder.empty() ? "." : folder); synced != 0)
            fail_write(target_, synced);
    }

  private:
    /// The half file must not lead elsewhere: whoever may write to the folder could otherwise have
    /// us write to any file of ours, or wait for the reader of a pipe.
    [[nodiscard]] int open_partial() const {
        struct stat before {};
        const bool there = ::lstat(target_.c_str(), &before) == 0;
        const bool replaces = there && S_ISREG(before.st_mode);
        if (there && !replaces && !S_ISLNK(before.st_mode))
            throw InputError(target_.string() + " cannot be replaced (it is " +
                             kind(before.st_mode) + ") choose another place");
        constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
        const mode_t mode = replaces ? before.st_mode & 0777U : 0644U;
        const int file = ::open(partial_.c_str(), flags, mode);
        if (file < 0 && errno == ELOOP)
            throw InputError(partial_.string() +
                             " cannot be written (it is a symbolic link, which is not followed) "
                             "remove it");
        if (file < 0) fail_write(target_, errno);
        // What the umask took away. Some file systems know no permissions.
        if (replaces) static_cast<void>(::fchmod(file, mode));
        return file;
    }

    std::filesystem::path target_;
    std::filesystem::path partial_;
    Descriptor file_;
    bool whole_ = false;
};

/// The number of a path that names a descriptor of this process.
std::optional<int> descriptor_named(const std::filesystem::path& path) {
    const auto number = number_in<int>(path.filename().string());
    if (!number || *number < 0) return std::nullopt;
    std::error_code none;
    const std::filesystem::path folder = std::filesystem::canonical(
        path.has_parent_path() ? path.parent_path() : std::filesystem::path("."), none);
    const std::string process = std::filesystem::canonical("/proc/self", none).string();
    // Of a thread, too; without /proc the folder is in /dev.
    const bool own = folder == "/dev/fd" || (!process.empty() && folder.filename() == "fd" &&
                                             folder.string().starts_with(process + "/"));
    return own ? number : std::nullopt;
}

/// What the links at the end of a path name, be it there or not. A descriptor is not followed to
/// the name of its file: whoever opened that said where in it to write.
std::filesystem::path followed(std::filesystem::path path) {
    constexpr int max_links = 40;  // As Linux.
    std::error_code error;
    for (int links = 0; !descriptor_named(path) && std::filesystem::is_symlink(path, error);
         ++links) {
        if (links == max_links) fail_write(path, ELOOP);
        const std::filesystem::path named = std::filesystem::read_symlink(path, error);
        if (error) fail_write(path, error.value());
        path = path.parent_path() / named;
    }
    return path;
}

/// A second descriptor of what one has open.
int duplicate(const std::filesystem::path& path, int number) {
    const int file = ::fcntl(number, F_DUPFD_CLOEXEC, 0);
    if (file < 0) fail_write(path, errno);
    return file;
}

/// Whether the path is a device, a pipe or a socket.
bool is_stream(const std::filesystem::path& path) {
    struct stat there {};
    return ::stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode);
}

/// A device or pipe, opened for writing.
int open_stream(const std::filesystem::path& path) {
    // A pipe that nobody reads would be waited for.
    Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!file.open() && errno == ENXIO)
        throw InputError(path.string() +
                         " cannot be written (nobody reads from it) start its reader first");
    if (!file.open()) fail_write(path, errno);
    const int flags = ::fcntl(file.number(), F_GETFL);
    if (flags < 0 || ::fcntl(file.number(), F_SETFL, flags & ~O_NONBLOCK) != 0)
        fail_write(path, errno);
    return file.release();
}

}  // namespace

int write_all(int file, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(file, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0 && errno == EAGAIN) {
            // A pipe that was opened not to wait is full.
            pollfd full{file, POLLOUT, 0};
            if (::poll(&full, 1, -1) < 0 && errno != EINTR) return errno;
            continue;
        }
        if (written < 0) return errno;
        bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return 0;
}

std::optional<int> descriptor_of(const std::filesystem::path& path) {
    return descriptor_named(followed(path));
}

void write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes) {
    PartialFile file(path);
    file.write(bytes);
    file.replace_target();
}

struct OutputFile::State {
    std::filesystem::path path;
    std::optional<PartialFile> file;
    Descriptor stream{-1};  ///< Where it is no file.
};

OutputFile::OutputFile(const std::filesystem::path& path) : state_(std::make_unique<State>()) {
    state_->path = path;
    // What a link names is replaced, not the link.
    const std::filesystem::path target = followed(path);
    if (const auto number = descriptor_named(target)) {
        state_->stream = Descriptor(duplicate(path, *number));
    } else if (is_stream(path)) {
        state_->stream = Descriptor(open_stream(path));
    } else {
        state_->file.emplace(target);
    }
}

OutputFile::~OutputFile() = default;

void OutputFile::write(std::span<const std::byte> bytes) {
    if (state_->file) {
        state_->file->write(bytes);
    } else if (const int error = write_all(state_->stream.number(), bytes); error != 0) {
        fail_write(state_->path, error);
    }
}

void OutputFile::finish() {
    if (state_->file) {
        state_->file->replace_target();
    } else if (const int error = state_->stream.close(); error != 0) {
        fail_write(state_->path, error);
    }
}

struct InputFile::State {
    std::filesystem::path path;
    Descriptor file{-1};
    std::uint64_t size = 0;
};

InputFile::InputFile(const std::filesystem::path& path) : state_(std::make_unique<State>()) {
    state_->path = path;
    state_->file = Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!state_->file.open()) fail_open(path, errno);
    struct stat status {};
    if (::fstat(state_->file.number(), &status) != 0) fail_read(path, reason(errno));
    if (!S_ISREG(status.st_mode)) fail_read(path, "it is not a regular file");
    state_->size = static_cast<std::uint64_t>(status.st_size);
}

InputFile::InputFile(InputFile&& other) noexcept = default;
InputFile::~InputFile() = default;

std::uint64_t InputFile::size() const {
    return state_->size;
}

std::vector<std::byte> InputFile::read(std::uint64_t offset, std::uint64_t length) const {
    if (offset > state_->size || length > state_->size - offset)
        fail_read(state_->path, "it ends before byte " + std::to_string(offset + length));
    std::vector<std::byte> bytes(static_cast<std::size_t>(length));
    std::size_t done = 0;
    while (done < bytes.size()) {
        const ssize_t got = ::pread(state_->file.number(), bytes.data() + done, bytes.size() - done,
                                    static_cast<off_t>(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) fail_read(state_->path, reason(errno));
        if (got == 0) fail_read(state_->path, "it became shorter while it was read");
        done += static_cast<std::size_t>(got);
    }
    return bytes;
}

std::vector<std::byte> read_file(const std::filesystem::path& path, std::uint64_t limit) {
    const InputFile file(path);
    if (file.size() > limit)
        fail_read(path, "it has " + std::to_string(file.size()) + " bytes, more than " +
                            std::to_string(limit));
    return file.read(0, file.size());
}

}  // namespace cambrian
