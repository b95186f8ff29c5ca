#include "cambrian/tests/bench/vulkan/measurements.hpp"

#include <fmt/core.h>

#include <chrono>
#include <cstdio>

#include "cambrian/tests/bench/engine/whole_trainings.hpp"

namespace cambrian {
namespace {

double seconds_of(Backend& backend, const WholeTraining& whole, const Network& network,
                  const DataSet& data, double& loss) {
    const auto begin = std::chrono::steady_clock::now();
    Trainer trainer(backend, network, data, whole.settings());
    trainer.run();
    loss = trainer.evaluate(Part::train).front().loss;
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

void measure_trainings(const VulkanOptions& options, const std::string& only) {
    for (const WholeTraining& whole : whole_trainings()) {
        const std::string name = "whole training " + whole.name;
        if (name.find(only) == std::string::npos) continue;
        const Network network = whole.network();
        const DataSet data = whole.data();
        const auto backend = make_vulkan_backend(options);
        double loss = 0.0;
        const double first = seconds_of(*backend, whole, network, data, loss);
        const double again = seconds_of(*backend, whole, network, data, loss);
        fmt::print("{:<28} {:>10.3f} s with compiling, {:>7.3f} s again; loss {:.4f}\n", name,
                   first, again, loss);
        std::fflush(stdout);
    }
}

}  // namespace cambrian
