#include "cambrian/launch/standard_descriptors.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cambrian/engine/core/error.hpp"

namespace cambrian::launch {

void open_standard_descriptors() {
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (fcntl(descriptor, F_GETFD) != -1 || errno != EBADF) continue;
        // The lowest free number is this one.
        if (open("/dev/null", O_RDWR) != descriptor)
            throw Error(
                fmt::format("descriptor {} is closed and /dev/null cannot be opened in its place "
                            "({}) start the program with input, output and error output",
                            descriptor, std::strerror(errno)));
    }
}

}  // namespace cambrian::launch
