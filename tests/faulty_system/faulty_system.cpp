// Calls of the system that fail or take long when they are told to, in front of the real ones:
// loaded with LD_PRELOAD, so that a whole program can be tested.
//   CAMBRIAN_FAULT_THREADS        threads that can be started; every further one is refused
//   CAMBRIAN_FAULT_SYNC_SECONDS   how long each fsync and fdatasync takes
//   CAMBRIAN_FAULT_SYNCS          with it, a file that each of these adds its name to
//   CAMBRIAN_FAULT_OPEN           the name of files that are not opened: too many are open already
//   CAMBRIAN_FAULT_LOCKS          none: there are no locks; own: those of others are not seen
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdarg>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

namespace {

template <class Function>
Function real(const char* name) {
    return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

std::atomic<long> started{0};

void wait_for_disk(const char* call) {
    const char* seconds = std::getenv("CAMBRIAN_FAULT_SYNC_SECONDS");
    if (seconds == nullptr) return;
    if (const char* list = std::getenv("CAMBRIAN_FAULT_SYNCS"))
        std::ofstream(list, std::ios::app) << call << std::endl;
    std::this_thread::sleep_for(std::chrono::duration<double>(std::strtod(seconds, nullptr)));
}

}  // namespace

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*body)(void*), void* argument) noexcept {
    static const auto next = real<decltype(&pthread_create)>("pthread_create");
    const char* room = std::getenv("CAMBRIAN_FAULT_THREADS");
    if (room != nullptr && started++ >= std::strtol(room, nullptr, 10)) return EAGAIN;
    return next(thread, attributes, body, argument);
}

extern "C" int flock(int descriptor, int operation) noexcept {
    static const auto next = real<decltype(&flock)>("flock");
    const char* locks = std::getenv("CAMBRIAN_FAULT_LOCKS");
    if (locks == nullptr) return next(descriptor, operation);
    if (std::string(locks) == "own") return 0;
    errno = ENOLCK;
    return -1;
}

extern "C" int open(const char* path, int flags, ...) {
    static const auto next = real<decltype(&open)>("open");
    va_list more;
    va_start(more, flags);
    const unsigned mode = (flags & O_CREAT) != 0 ? va_arg(more, unsigned) : 0U;
    va_end(more);
    const char* refused = std::getenv("CAMBRIAN_FAULT_OPEN");
    if (refused == nullptr || !std::string_view(path).ends_with("/" + std::string(refused)))
        return next(path, flags, mode);
    errno = EMFILE;
    return -1;
}

extern "C" int fsync(int descriptor) {
    static const auto next = real<decltype(&fsync)>("fsync");
    wait_for_disk("fsync");
    return next(descriptor);
}

extern "C" int fdatasync(int descriptor) {
    static const auto next = real<decltype(&fdatasync)>("fdatasync");
    wait_for_disk("fdatasync");
    return next(descriptor);
}
