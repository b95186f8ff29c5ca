#pragma once

#include <string>
#include <string_view>

#include "cambrian/engine/graph/graph.hpp"
#include "cambrian/gpu/vulkan_backend.hpp"

namespace cambrian {

/// A graph of real operands whose kernels are measured, and what a run of it is worth.
struct KernelCase {
    std::string name;
    Graph graph;
    double work = 0.0;      ///< Of a run.
    std::string_view rate;  ///< 1e12 of its units in a second: "TFLOP/s", "TB/s".
};

/// Prints the milliseconds of a run by the device's timestamps, the rate, and every kernel's share.
void measure_kernels(const KernelCase& measured, VulkanOptions options, int runs);

}  // namespace cambrian
