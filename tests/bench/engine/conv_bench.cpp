#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/gradient/gradient.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"

// Convolutions of 32 images. Arguments: threads, and individuals that share the images evenly and
// the weights wholly, because the threads share individuals. conv_torch.py sets them beside
// PyTorch.
namespace cambrian {
namespace {

constexpr std::int64_t images = 32;

struct Layer {
    std::int64_t in;
    std::int64_t out;
    std::int64_t side;
    std::int64_t kernel;
    std::int64_t groups;
};
constexpr Layer dense_layer{32, 64, 28, 3, 1};
constexpr Layer pointwise_layer{64, 64, 28, 1, 1};
constexpr Layer depthwise_layer{64, 64, 28, 3, 64};

Graph conv_graph(const Layer& layer, std::int64_t individuals, bool gradients) {
    Graph graph;
    const Var x =
        graph.input("x", ValueType::real, {images / individuals, layer.in, layer.side, layer.side},
                    individuals > 1);
    const Var w = graph.input("w", ValueType::real,
                              {layer.out, layer.in / layer.groups, layer.kernel, layer.kernel});
    const Var b = graph.input("b", ValueType::real, {layer.out});
    const std::int64_t padding = layer.kernel / 2;
    const Var y = conv(x, w, b, {.before = padding, .after = padding, .groups = layer.groups});
    if (!gradients) {
        graph.output(y);
        return graph;
    }
    const Var g = graph.input("g", ValueType::real, y.shape());
    for (const Var value : gradient(y, g, std::array{x, w, b})) graph.output(value);
    return graph;
}

void run(benchmark::State& state, const Graph& graph, double flops) {
    const auto individuals = state.range(1);
    const auto backend = make_cpu_backend({.threads = static_cast<int>(state.range(0))});
    const auto program = backend->compile(graph);
    std::vector<std::unique_ptr<Buffer>> buffers;
    const auto bind = [&](std::span<const ValueId> values) {
        std::vector<Binding> bindings;
        for (const ValueId id : values) {
            const ValueInfo& info = graph.value(id);
            const std::int64_t count =
                info.shape.elements() * (info.per_individual ? individuals : 1);
            std::vector<float> numbers(static_cast<std::size_t>(count));
            RandomField{random_key(1, "bench"), buffers.size()}.fill_normal(0, numbers);
            buffers.push_back(backend->allocate(ValueType::real, count));
            backend->upload(*buffers.back(), 0, std::span<const float>(numbers));
            bindings.push_back({buffers.back().get(), 0});
        }
        return bindings;
    };
    const std::vector<Binding> inputs = bind(graph.inputs());
    const std::vector<Binding> outputs = bind(graph.outputs());
    for (auto iteration : state) program->run(individuals, inputs, outputs);
    state.counters["flops"] =
        benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate);
}

double flops_of(const Layer& layer) {
    const auto products = images * layer.out * layer.in / layer.groups * layer.kernel *
                          layer.kernel * layer.side * layer.side;
    return 2.0 * static_cast<double>(products);
}

void conv_forward(benchmark::State& state, const Layer& layer) {
    run(state, conv_graph(layer, state.range(1), false), flops_of(layer));
}
/// Gradients of images, weights and bias, without the values themselves.
void conv_backward(benchmark::State& state, const Layer& layer) {
    run(state, conv_graph(layer, state.range(1), true), 2.0 * flops_of(layer));
}
void conv_lowered(benchmark::State& state, const Layer& layer) {
    const Graph graph = conv_graph(layer, state.range(1), false);
    run(state, lower(graph, [](Op op) { return op != Op::conv; }), flops_of(layer));
}

void sizes(benchmark::internal::Benchmark* benchmark) {
    benchmark->Args({1, 1})->Args({2, 2})->Unit(benchmark::kMillisecond)->UseRealTime();
}
BENCHMARK_CAPTURE(conv_forward, 3x3, dense_layer)->Apply(sizes);
BENCHMARK_CAPTURE(conv_backward, 3x3, dense_layer)->Apply(sizes);
BENCHMARK_CAPTURE(conv_lowered, 3x3, dense_layer)->Apply(sizes);
BENCHMARK_CAPTURE(conv_forward, 1x1, pointwise_layer)->Apply(sizes);
BENCHMARK_CAPTURE(conv_backward, 1x1, pointwise_layer)->Apply(sizes);
BENCHMARK_CAPTURE(conv_forward, depthwise, depthwise_layer)->Apply(sizes);
BENCHMARK_CAPTURE(conv_backward, depthwise, depthwise_layer)->Apply(sizes);

}  // namespace
}  // namespace cambrian
