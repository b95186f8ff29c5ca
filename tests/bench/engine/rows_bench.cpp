#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <vector>

#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/gradient/gradient.hpp"

// Norms, gates and losses over rows of one large value (rows_torch.py sets them beside PyTorch).
namespace cambrian {
namespace {

constexpr std::int64_t rows = 1024;
constexpr std::int64_t width = 1024;

Var rows_input(Graph& graph, const char* name) {
    return graph.input(name, ValueType::real, {rows, width});
}

Var width_input(Graph& graph, const char* name) {
    return graph.input(name, ValueType::real, {width});
}

void rms_norm_rows(Graph& graph) {
    graph.output(rms_norm(rows_input(graph, "x"), width_input(graph, "gain"), 1e-6));
}

void softmax_rows(Graph& graph) {
    graph.output(softmax(rows_input(graph, "x")));
}

void layer_norm_rows(Graph& graph) {
    graph.output(layer_norm(rows_input(graph, "x"), width_input(graph, "gain"),
                            width_input(graph, "bias"), 1e-5));
}

void silu_gate_rows(Graph& graph) {
    const Var x = rows_input(graph, "x");
    graph.output(x * sigmoid(x) * rows_input(graph, "y"));
}

void rope_rows(Graph& graph) {
    const Var x = rows_input(graph, "x");
    const RotaryTables tables{graph.input("cosine", ValueType::real, {rows, width / 2}),
                              graph.input("sine", ValueType::real, {rows, width / 2})};
    graph.output(rope(x, tables));
}

void add_rows(Graph& graph) {
    graph.output(rows_input(graph, "x") + rows_input(graph, "y"));
}

/// The result, and the gradients that flow from those of the result to some values.
void with_gradients(Graph& graph, Var result, const std::vector<Var>& values) {
    const Var upstream = rows_input(graph, "upstream");
    graph.output(result);
    for (const Var adjoint : gradient(result, upstream, values)) graph.output(adjoint);
}

void softmax_and_gradient(Graph& graph) {
    const Var x = rows_input(graph, "x");
    with_gradients(graph, softmax(x), {x});
}

void rms_norm_and_gradient(Graph& graph) {
    const Var x = rows_input(graph, "x");
    const Var gain = width_input(graph, "gain");
    with_gradients(graph, rms_norm(x, gain, 1e-6), {x, gain});
}

void run_rows(benchmark::State& state, void (*build)(Graph&)) {
    const auto backend = make_cpu_backend({.threads = static_cast<int>(state.range(0))});
    Graph graph;
    build(graph);
    const auto program = backend->compile(graph);
    std::vector<std::unique_ptr<Buffer>> buffers;
    const auto bind = [&](std::span<const ValueId> ids) {
        std::vector<Binding> bindings;
        for (const ValueId id : ids) {
            const std::int64_t elements = graph.value(id).shape.elements();
            std::vector<float> values(static_cast<std::size_t>(elements));
            RandomStream stream(random_key(1, "rows"), buffers.size());
            stream.field().fill_normal(0, values);
            buffers.push_back(backend->allocate(ValueType::real, elements));
            backend->upload(*buffers.back(), 0, std::span<const float>(values));
            bindings.push_back({buffers.back().get(), 0});
        }
        return bindings;
    };
    const std::vector<Binding> inputs = bind(graph.inputs());
    const std::vector<Binding> outputs = bind(graph.outputs());
    double best = std::numeric_limits<double>::infinity();
    for (auto iteration : state) {
        const auto start = std::chrono::steady_clock::now();
        program->run(1, inputs, outputs);
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
        best = std::min(best, taken.count());
    }
    state.counters["best_ms"] = best * 1e3;
}

void on_one_and_two_threads(benchmark::internal::Benchmark* bench) {
    bench->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();
}

BENCHMARK_CAPTURE(run_rows, rms_norm, rms_norm_rows)->Apply(on_one_and_two_threads);
BENCHMARK_CAPTURE(run_rows, softmax, softmax_rows)->Apply(on_one_and_two_threads);
BENCHMARK_CAPTURE(run_rows, layer_norm, layer_norm_rows)->Apply(on_one_and_two_threads);
BENCHMARK_CAPTURE(run_rows, silu_gate, silu_gate_rows)->Apply(on_one_and_two_threads);
BENCHMARK_CAPTURE(run_rows, rope, rope_rows)->Apply(on_one_and_two_threads);
BENCHMARK_CAPTURE(run_rows, add, add_rows)->Apply(on_one_and_two_threads);
BENCHMARK_CAPTURE(run_rows, softmax_gradient, softmax_and_gradient)->Apply(on_one_and_two_threads);
BENCHMARK_CAPTURE(run_rows, rms_norm_gradient, rms_norm_and_gradient)
    ->Apply(on_one_and_two_threads);

}  // namespace
}  // namespace cambrian
