#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cambrian/engine/graph/graph.hpp"
#include "cambrian/gpu/vulkan_backend.hpp"

// What cambrian_vulkan_bench measures, each in a file of its own. `scale` divides populations,
// batches and lengths, so that a slow device gets through; `only` is a part of the names to run.
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

/// Prints what attention costs by the device's timestamps, forward and with its gradient: for each
/// case the milliseconds of every kernel, and TFLOP/s of the products of keys that are seen.
/// `scale` divides the batch.
void measure_attention(const VulkanOptions& options, std::int64_t scale, int runs,
                       const std::string& only);

/// Prints what selective scans cost by the device's timestamps, forward and with their gradient:
/// for each case the milliseconds of every kernel, and TB/s of operands and results, each once.
/// `scale` divides batch and length.
void measure_selective_scan(const VulkanOptions& options, std::int64_t scale, int runs,
                            const std::string& only);

/// Prints what whole cart-pole episodes of a population cost: seconds of compiling and of the first
/// run, milliseconds of wall clock of a run with its fitness read back (median and best), the
/// device's milliseconds, steps a second. `scale` divides the populations.
void measure_rollouts(const VulkanOptions& options, std::int64_t scale, int runs,
                      const std::string& only);

/// Evolves cart-pole (5 episodes of 500 steps, default mutation rates) with all evaluations on the
/// device, 50 generations and then `runs` measured ones; prints medians of a generation: making
/// children, evaluating, the rest; the device's milliseconds; programs compiled meanwhile. `scale`
/// divides the population.
void measure_evolution(const VulkanOptions& options, std::int64_t scale, int runs,
                       const std::string& only);

/// Evaluates 10,000 random networks of 5 to 60 single neurons over 5 episodes of cart-pole that all
/// go on for 500 steps: prints milliseconds from genomes to fitness (median, best, and the first
/// time, with bytecodes and program) and those of the device. `scale` divides the population.
void measure_neurons(VulkanOptions options, std::int64_t scale, int runs, const std::string& only);

/// A training step of 256 perceptrons 784-128-10 on a batch of 128 that all of them share: forward,
/// cross-entropy, gradients and Adam, with parameters and moments replaced where they lie. Prints
/// milliseconds of the device for a step and for each kernel of it. `scale` divides the population.
void measure_training(const VulkanOptions& options, std::int64_t scale, int runs,
                      const std::string& only);

/// Wall-clock seconds of whole trainings (whole_trainings.hpp) on a device, from the network to the
/// last epoch, compiling included: of the first one, and of one whose pipelines are there already.
void measure_trainings(const VulkanOptions& options, const std::string& only);

}  // namespace cambrian
