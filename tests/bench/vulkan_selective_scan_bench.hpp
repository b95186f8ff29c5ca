#pragma once

#include <cstdint>
#include <string>

#include "cambrian/gpu/vulkan_backend.hpp"

namespace cambrian {

/// Prints what selective scans cost by the device's timestamps, forward and with their gradient:
/// for each case the milliseconds of every kernel, and TB/s of operands and results, each once.
/// `scale` divides batch and length; `only` is a part of the names to run.
void measure_selective_scan(const VulkanOptions& options, std::int64_t scale, int runs,
                            const std::string& only);

}  // namespace cambrian
