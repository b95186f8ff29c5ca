#pragma once

#include <cstdint>
#include <string>

#include "cambrian/gpu/vulkan_backend.hpp"

namespace cambrian {

/// Prints what attention costs by the device's timestamps, forward and with its gradient: for each
/// case the milliseconds of every kernel, and TFLOP/s of the products of keys that are seen.
/// `scale` divides the batch; `only` is a part of the names to run.
void measure_attention(const VulkanOptions& options, std::int64_t scale, int runs,
                       const std::string& only);

}  // namespace cambrian
