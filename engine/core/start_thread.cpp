#include "cambrian/engine/core/start_thread.hpp"

#include <fmt/core.h>

#include <system_error>
#include <utility>

#include "cambrian/engine/core/error.hpp"

namespace cambrian {

std::thread start_thread(std::function<void()> body) {
    try {
        return std::thread(std::move(body));
    } catch (const std::system_error& error) {
        throw DeviceError(
            fmt::format("one more thread cannot be started (the system refuses it: {}) lower "
                        "engine.threads, start fewer ranks on a host, or raise the limit on "
                        "processes and memory (ulimit -u, ulimit -v, the pids of a container)",
                        error.code().message()));
    }
}

}  // namespace cambrian
