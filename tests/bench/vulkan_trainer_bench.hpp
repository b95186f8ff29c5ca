#pragma once

#include <string>

#include "cambrian/gpu/vulkan_backend.hpp"

namespace cambrian {

/// Wall-clock seconds of whole trainings (whole_trainings.hpp) on a device, from the network to the
/// last epoch, compiling included: of the first one, and of one whose pipelines are there already.
/// `only` is a part of the names to run.
void measure_trainings(const VulkanOptions& options, const std::string& only);

}  // namespace cambrian
