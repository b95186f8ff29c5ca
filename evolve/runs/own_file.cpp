#include "cambrian/evolve/runs/own_file.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "cambrian/engine/core/error.hpp"

namespace cambrian::distributed {

int open_own_file(const std::filesystem::path& path, int flags) {
    const int file = ::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
    if (file < 0 && errno == ELOOP) {
        throw InputError(fmt::format(
            "{} cannot be opened (it is a symbolic link, which is not followed in a run directory) "
            "remove it",
            path.string()));
    }
    struct stat status {};
    // Nobody reads a pipe that gives ENXIO.
    const bool other =
        file < 0 ? errno == ENXIO : ::fstat(file, &status) == 0 && !S_ISREG(status.st_mode);
    if (other) {
        ::close(file);
        throw InputError(
            fmt::format("{} cannot be opened (it is not a regular file) remove it", path.string()));
    }
    if (file < 0) {
        throw InputError(fmt::format("{} cannot be opened ({}) check the disk and its permissions",
                                     path.string(), std::generic_category().message(errno)));
    }
    return file;
}

}  // namespace cambrian::distributed
