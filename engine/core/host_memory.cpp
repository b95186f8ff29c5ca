#include "cambrian/engine/core/host_memory.hpp"

#include <unistd.h>

namespace cambrian {

std::int64_t host_memory() {
    return static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
}

}  // namespace cambrian
