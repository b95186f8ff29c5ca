#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/gradient/gradient.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"

// Causal attention of one individual on one thread: the kernel in tiles beside the lowering, which
// stores every score. Counted are the products of the keys that are seen.
namespace cambrian {
namespace {

constexpr std::int64_t heads = 4;
constexpr std::int64_t width = 64;

Graph attention_graph(std::int64_t length, bool with_gradient) {
    Graph graph;
    std::vector<Var> qkv;
    for (const char* name : {"q", "k", "v"})
        qkv.push_back(graph.input(name, ValueType::real, {heads, length, width}));
    const Var output = attention(qkv[0], qkv[1], qkv[2], {.causal = true}).output;
    if (with_gradient)
        for (const Var g : gradient(sum_all(output), qkv)) graph.output(g);
    else
        graph.output(output);
    return graph;
}

/// The last row of a cache of so many positions, one query a head.
Graph cached_graph(std::int64_t positions) {
    Graph graph;
    const auto rows = [&](const char* name, std::int64_t count) {
        return graph.input(name, ValueType::real, {heads, count, width});
    };
    const Var q = rows("q", 1);
    const KeysAndValues cache{rows("keys", positions), rows("values", positions)};
    const KeysAndValues own{rows("k", 1), rows("v", 1)};
    const Var at = constant(graph, static_cast<double>(positions), ValueType::integer);
    graph.output(cached_attention(q, cache, own, at));
    return graph;
}

/// @param operations of a run.
void run(benchmark::State& state, const Graph& graph, double operations) {
    const auto backend = make_cpu_backend({});
    const auto program = backend->compile(graph);
    std::vector<std::unique_ptr<Buffer>> buffers;
    const auto bind = [&](std::span<const ValueId> values) {
        std::vector<Binding> bindings;
        for (const ValueId id : values) {
            std::vector<float> numbers(static_cast<std::size_t>(graph.value(id).shape.elements()));
            RandomField{random_key(1, "bench"), buffers.size()}.fill_normal(0, numbers);
            buffers.push_back(
                backend->allocate(ValueType::real, static_cast<std::int64_t>(numbers.size())));
            backend->upload(*buffers.back(), 0, std::span<const float>(numbers));
            bindings.push_back({buffers.back().get(), 0});
        }
        return bindings;
    };
    const std::vector<Binding> inputs = bind(graph.inputs());
    const std::vector<Binding> outputs = bind(graph.outputs());
    for (auto iteration : state) program->run(1, inputs, outputs);
    state.counters["flops"] =
        benchmark::Counter(operations, benchmark::Counter::kIsIterationInvariantRate);
}

Graph as_lowering(const Graph& graph) {
    return lower(graph, [](Op op) { return op_info(op).lowering == nullptr; });
}

// A product of causal scores has 2 × length² × width / 2 operations: two forward, seven with the
// gradient.
double causal(const benchmark::State& state, double products) {
    const auto length = static_cast<double>(state.range(0));
    return products * heads * length * length * width;
}
// Two products of 2 × positions × width.
double cached(const benchmark::State& state) {
    return 4.0 * heads * static_cast<double>(state.range(0)) * width;
}

void causal_attention(benchmark::State& state) {
    run(state, attention_graph(state.range(0), false), causal(state, 2.0));
}
void causal_attention_lowered(benchmark::State& state) {
    run(state, as_lowering(attention_graph(state.range(0), false)), causal(state, 2.0));
}
void causal_attention_gradient(benchmark::State& state) {
    run(state, attention_graph(state.range(0), true), causal(state, 7.0));
}
void causal_attention_gradient_lowered(benchmark::State& state) {
    run(state, as_lowering(attention_graph(state.range(0), true)), causal(state, 7.0));
}
void cached_row(benchmark::State& state) {
    run(state, cached_graph(state.range(0)), cached(state));
}
void cached_row_lowered(benchmark::State& state) {
    run(state, as_lowering(cached_graph(state.range(0))), cached(state));
}

BENCHMARK(causal_attention)->Arg(256)->Arg(1024)->Unit(benchmark::kMillisecond);
BENCHMARK(causal_attention_lowered)->Arg(256)->Arg(1024)->Unit(benchmark::kMillisecond);
BENCHMARK(causal_attention_gradient)->Arg(256)->Arg(1024)->Unit(benchmark::kMillisecond);
BENCHMARK(causal_attention_gradient_lowered)->Arg(256)->Arg(1024)->Unit(benchmark::kMillisecond);
BENCHMARK(cached_row)->Arg(16)->Arg(1024)->Unit(benchmark::kMicrosecond);
BENCHMARK(cached_row_lowered)->Arg(16)->Arg(1024)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace cambrian
