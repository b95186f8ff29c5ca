#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/tests/gpu/codegen/rollout_support.hpp"

// Cart-pole episodes of 500 steps of networks 4-16-2 of one structure that all balance to the end.
// Arguments: population, threads.
namespace cambrian {
namespace {

void cart_pole_rollout(benchmark::State& state) {
    constexpr std::int64_t steps = 500;
    const std::int64_t population = state.range(0);
    const test::Rollout rollout(test::multilayer_perceptron(16), 1, steps,
                                test::Rollout::Form::nodes);
    const auto backend = make_cpu_backend({.threads = static_cast<int>(state.range(1))});
    const auto program = backend->compile(rollout.graph());
    std::vector<std::unique_ptr<Buffer>> buffers;
    std::vector<Binding> inputs;
    std::vector<Binding> outputs;
    for (const Tensor& tensor : rollout.balancing_inputs(population)) {
        buffers.push_back(
            backend->allocate(tensor.type, static_cast<std::int64_t>(tensor.elements.size())));
        inputs.push_back({buffers.back().get(), 0});
        if (tensor.type == ValueType::real) {
            backend->upload(*buffers.back(), 0, std::span<const double>(tensor.elements));
        } else {
            const std::vector<std::int32_t> words(tensor.elements.begin(), tensor.elements.end());
            backend->upload(*buffers.back(), 0, std::span<const std::int32_t>(words));
        }
    }
    for (const ValueId id : rollout.graph().outputs()) {
        const ValueInfo& info = rollout.graph().value(id);
        buffers.push_back(backend->allocate(info.type, population * info.shape.elements()));
        outputs.push_back({buffers.back().get(), 0});
    }
    for (auto iteration : state) program->run(population, inputs, outputs);
    std::vector<float> fitness(static_cast<std::size_t>(population));
    backend->download(*outputs[0].buffer, 0, std::span<float>(fitness));
    double total = 0.0;
    for (const float own : fitness) total += static_cast<double>(own);
    state.counters["steps"] =
        benchmark::Counter(total, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(cart_pole_rollout)
    ->Args({10000, 1})
    ->Args({10000, 2})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace cambrian
