#pragma once

#include <cstdint>

namespace cambrian {

/// Bytes of memory that this host has.
[[nodiscard]] std::int64_t host_memory();

}  // namespace cambrian
