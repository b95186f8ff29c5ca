#pragma once

#include <cstdint>
#include <string>

#include "cambrian/gpu/vulkan_backend.hpp"

namespace cambrian {

/// Prints what whole cart-pole episodes of a population cost: seconds of compiling and of the first
/// run, milliseconds of wall clock of a run with its fitness read back (median and best), the
/// device's milliseconds, steps a second. `scale` divides the populations; `only` is a part of the
/// names to run.
void measure_rollouts(const VulkanOptions& options, std::int64_t scale, int runs,
                      const std::string& only);

}  // namespace cambrian
