#include "cambrian/tests/bench/vulkan/measurements.hpp"

#include <fmt/core.h>

#include <cstdio>
#include <memory>
#include <vector>

#include "cambrian/engine/core/random.hpp"

namespace cambrian {
namespace {

/// Buffers of the values on the device; uniform words in [-1, 1) where they are filled.
class Buffers {
  public:
    Buffers(Backend& backend, const Graph& graph, std::span<const ValueId> values, bool filled) {
        for (const ValueId id : values) {
            const std::int64_t elements = graph.value(id).shape.elements();
            buffers_.push_back(backend.allocate(ValueType::real, elements));
            bindings.push_back({buffers_.back().get(), 0});
            if (filled) fill(backend, *buffers_.back());
        }
    }
    std::vector<Binding> bindings;

  private:
    void fill(Backend& backend, Buffer& buffer) {
        std::vector<float> words(static_cast<std::size_t>(buffer.elements()));
        RandomStream stream(random_key(1, "kernel bench"), buffers_.size());
        for (float& word : words) word = stream.uniform() * 2.0F - 1.0F;
        backend.upload(buffer, 0, std::span<const float>(words));
    }
    std::vector<std::unique_ptr<Buffer>> buffers_;
};

}  // namespace

void measure_kernels(const KernelCase& measured, VulkanOptions options, int runs) {
    options.profile = true;
    const auto backend = make_vulkan_backend(options);
    const auto program = backend->compile(measured.graph);
    const Buffers inputs(*backend, measured.graph, measured.graph.inputs(), true);
    const Buffers outputs(*backend, measured.graph, measured.graph.outputs(), false);
    float first = 0.0F;
    const auto run = [&](int times) {
        for (int i = 0; i < times; ++i) program->run(1, inputs.bindings, outputs.bindings);
        backend->download(*outputs.bindings[0].buffer, 0, std::span<float>(&first, 1));
    };
    run(2);
    static_cast<void>(backend->take_profile());
    run(runs);
    double seconds = 0.0;
    const std::vector<KernelTime> kernels = backend->take_profile();
    for (const KernelTime& kernel : kernels) seconds += kernel.seconds / runs;
    fmt::print("{:<52} {:>9.3f} ms {:>8.3f} {}\n", measured.name, seconds * 1e3,
               measured.work / seconds * 1e-12, measured.rate);
    if (kernels.size() > 1)
        for (const KernelTime& kernel : kernels)
            fmt::print("    {:>10.4f} ms in {:>3}  {}\n", kernel.seconds / runs * 1e3,
                       kernel.dispatches / runs, kernel.kernel);
    std::fflush(stdout);
}

}  // namespace cambrian
