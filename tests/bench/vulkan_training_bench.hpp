#pragma once

#include <cstdint>
#include <string>

#include "cambrian/gpu/vulkan_backend.hpp"

namespace cambrian {

/// A training step of 256 perceptrons 784-128-10 on a batch of 128 that all of them share: forward,
/// cross-entropy, gradients and Adam, with parameters and moments replaced where they lie. Prints
/// milliseconds of the device for a step and for each kernel of it. `scale` divides the population;
/// `only` is a part of the names to run.
void measure_training(const VulkanOptions& options, std::int64_t scale, int runs,
                      const std::string& only);

}  // namespace cambrian
