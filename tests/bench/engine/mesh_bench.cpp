#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/network/network.hpp"

// 64 dense slots of width 32 with tanh: as a mesh, whose slots are all clocked at once, and as a
// chain that goes step by step too, since its first slot hears itself. Both do 65 products of one
// row in a tick. Arguments: population, threads.
namespace cambrian {
namespace {

constexpr std::int64_t width = 32;
constexpr int slots = 64;
constexpr std::int64_t ticks = 20;

Network network_of(NetworkMode mode) {
    Blueprint blueprint;
    blueprint.input_features = width;
    blueprint.output_features = width;
    blueprint.grid = {.depth = 4, .rows = 4, .cols = 4, .layers_per_cell = 1};
    blueprint.slots.assign(
        slots, Slot{.layer = Dense{.in = width, .out = width, .activation = Activation::tanh}});
    blueprint.head = Dense{.in = width, .out = width};
    blueprint.mode = mode;
    if (mode == NetworkMode::chain)
        blueprint.links = {{.source = 0, .target = 0, .kind = LinkKind::backward}};
    return Network(std::move(blueprint));
}

Tensor codes(ValueType type, const std::vector<std::int32_t>& values) {
    return {type, {static_cast<std::int64_t>(values.size())}, {values.begin(), values.end()}};
}

void run(benchmark::State& state, NetworkMode mode) {
    const std::int64_t population = state.range(0);
    const Network network = network_of(mode);
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {1, ticks, width});
    const NetworkOperands operands{
        .weights = graph.input("weights", ValueType::real, {network.weight_count()}, true),
        .activations = graph.constant(codes(ValueType::integer, network.activation_codes())),
        .enabled = graph.constant(codes(ValueType::boolean, network.enabled_flags()))};
    graph.output(network.sequence(x, operands));

    const auto backend = make_cpu_backend({.threads = static_cast<int>(state.range(1))});
    const auto program = backend->compile(graph);
    const auto filled = [&](std::vector<float> values) {
        auto buffer = backend->allocate(ValueType::real, static_cast<std::int64_t>(values.size()));
        backend->upload(*buffer, 0, std::span<const float>(values));
        return buffer;
    };
    RandomStream rng(random_key(1, "bench.mesh"), 0);
    std::vector<float> rows(static_cast<std::size_t>(ticks * width));
    rng.field().fill_normal(0, rows);
    std::vector<float> weights;
    for (std::int64_t i = 0; i < population; ++i) {
        const std::vector<float> own = network.initial_weights(rng);
        weights.insert(weights.end(), own.begin(), own.end());
    }
    const auto x_buffer = filled(rows);
    const auto weight_buffer = filled(weights);
    const auto y_buffer = backend->allocate(ValueType::real, population * ticks * width);
    const std::vector<Binding> inputs{{x_buffer.get(), 0}, {weight_buffer.get(), 0}};
    const std::vector<Binding> outputs{{y_buffer.get(), 0}};
    for (auto iteration : state) program->run(population, inputs, outputs);
    state.counters["steps"] = benchmark::Counter(static_cast<double>(ticks * population),
                                                 benchmark::Counter::kIsIterationInvariantRate);
}

void mesh_ticks(benchmark::State& state) {
    run(state, NetworkMode::mesh);
}
void chain_steps(benchmark::State& state) {
    run(state, NetworkMode::chain);
}
void both(benchmark::internal::Benchmark* benchmark) {
    benchmark->ArgsProduct({{1, 256}, {1, 2}})->Unit(benchmark::kMillisecond)->UseRealTime();
}
BENCHMARK(mesh_ticks)->Apply(both);
BENCHMARK(chain_steps)->Apply(both);

}  // namespace
}  // namespace cambrian
