// A process that is killed or stopped just before one of its steps: a call of the system on a file
// of the run directory, or a message to another rank. What has been done then, and what not, is
// what a crash between any two steps leaves. Loaded with LD_PRELOAD.
//   CAMBRIAN_CRASH_DIRECTORY  the run directory; files in its logs/ and status.json do not count
//   CAMBRIAN_CRASH_AT         RANKfSTEP:SIGNAL, the steps on files counted from 1,
//                             RANKmSTEP:SIGNAL, its messages, RANKrSTEP:SIGNAL, those by which it
//                             passes a record on; several with commas between them
//   CAMBRIAN_CRASH_STEPS      a folder: rank N adds a line for each of its steps to N there
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace {

template <class Function>
Function real(const char* name) {
    return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

std::string variable(const char* name) {
    const char* text = std::getenv(name);
    return text == nullptr ? "" : text;
}

/// The signal that waits for a rank at a step; 0: none.
int signal_at(long rank, char kind, long step) {
    const std::string list = variable("CAMBRIAN_CRASH_AT");
    const char* at = list.c_str();
    while (*at != '\0') {
        char* end = nullptr;
        const long whose = std::strtol(at, &end, 10);
        const char counted = *end;
        const long when = std::strtol(end + 1, &end, 10);
        const long what = std::strtol(end + 1, &end, 10);
        if (whose == rank && counted == kind && when == step) return static_cast<int>(what);
        at = *end == ',' ? end + 1 : end;
    }
    return 0;
}

/// @param kind f: on a file, m: a message, r: a message that passes a record on.
void step(char kind, const char* call, std::string_view what) {
    static const std::string folder = variable("CAMBRIAN_CRASH_STEPS");
    static const long rank = std::strtol(variable("OMPI_COMM_WORLD_RANK").c_str(), nullptr, 10);
    static std::atomic<long> of_files{0}, of_messages{0}, of_records{0};
    const long number = ++(kind == 'f' ? of_files : kind == 'm' ? of_messages : of_records);
    if (!folder.empty()) {
        static const auto write_it = real<decltype(&write)>("write");
        static const auto open_it = real<decltype(&open)>("open");
        static const int file = open_it((folder + "/" + std::to_string(rank)).c_str(),
                                        O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        const std::string line = std::string(1, kind) + " " + call + " " + std::string(what) + "\n";
        [[maybe_unused]] const ssize_t written = write_it(file, line.data(), line.size());
    }
    if (const int number_of_signal = signal_at(rank, kind, number))
        kill(getpid(), number_of_signal);
}

/// A call on a file of the run directory is a step.
void on_path(const char* call, const char* path) {
    static const std::string directory = variable("CAMBRIAN_CRASH_DIRECTORY") + "/";
    if (directory.size() < 2 || path == nullptr || !std::string_view(path).starts_with(directory))
        return;
    const std::string_view name = std::string_view(path).substr(directory.size());
    if (!name.starts_with("logs") && !name.starts_with("status.json")) step('f', call, name);
}

void on_file(const char* call, int file) {
    char path[4096];
    const std::string link = "/proc/self/fd/" + std::to_string(file);
    const ssize_t length = readlink(link.c_str(), path, sizeof path - 1);
    if (length <= 0) return;
    path[length] = '\0';
    on_path(call, path);
}

}  // namespace

extern "C" int open(const char* path, int flags, ...) {
    static const auto next = real<decltype(&open)>("open");
    va_list more;
    va_start(more, flags);
    const unsigned mode = (flags & O_CREAT) != 0 ? va_arg(more, unsigned) : 0U;
    va_end(more);
    if ((flags & O_ACCMODE) != O_RDONLY) on_path("open", path);
    return next(path, flags, mode);
}

extern "C" ssize_t write(int file, const void* bytes, size_t count) {
    static const auto next = real<decltype(&write)>("write");
    if (file > STDERR_FILENO) on_file("write", file);
    return next(file, bytes, count);
}

extern "C" ssize_t pwrite(int file, const void* bytes, size_t count, off_t at) {
    static const auto next = real<decltype(&pwrite)>("pwrite");
    on_file("pwrite", file);
    return next(file, bytes, count, at);
}

extern "C" int ftruncate(int file, off_t length) noexcept {
    static const auto next = real<decltype(&ftruncate)>("ftruncate");
    on_file("ftruncate", file);
    return next(file, length);
}

extern "C" int fsync(int file) {
    static const auto next = real<decltype(&fsync)>("fsync");
    on_file("fsync", file);
    return next(file);
}

extern "C" int fdatasync(int file) {
    static const auto next = real<decltype(&fdatasync)>("fdatasync");
    on_file("fdatasync", file);
    return next(file);
}

extern "C" int flock(int file, int operation) noexcept {
    static const auto next = real<decltype(&flock)>("flock");
    if ((operation & LOCK_EX) != 0) on_file("flock", file);
    return next(file, operation);
}

extern "C" int rename(const char* from, const char* to) noexcept {
    static const auto next = real<decltype(&rename)>("rename");
    on_path("rename", to);
    return next(from, to);
}

extern "C" int remove(const char* path) noexcept {
    static const auto next = real<decltype(&remove)>("remove");
    on_path("remove", path);
    return next(path);
}

// distributed::MessageKind::round_end
constexpr int record_tag = 10;

// The types of Open MPI are addresses.
extern "C" int MPI_Isend(const void* bytes, int count, void* type, int rank, int tag,
                         void* communicator, void* request) {
    static const auto next = real<decltype(&MPI_Isend)>("MPI_Isend");
    const std::string what = std::to_string(tag) + " to " + std::to_string(rank);
    step('m', "send", what);
    if (tag == record_tag) step('r', "send", what);
    return next(bytes, count, type, rank, tag, communicator, request);
}
