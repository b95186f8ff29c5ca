#pragma once

#include <cstdint>
#include <string>

#include "cambrian/gpu/vulkan_backend.hpp"

namespace cambrian {

/// Evolves cart-pole (5 episodes of 500 steps, default mutation rates) with all evaluations on the
/// device, 50 generations and then `runs` measured ones; prints medians of a generation: making
/// children, evaluating, the rest; the device's milliseconds; programs compiled meanwhile. `scale`
/// divides the population; `only` is a part of the names to run.
void measure_evolution(const VulkanOptions& options, std::int64_t scale, int runs,
                       const std::string& only);

}  // namespace cambrian
