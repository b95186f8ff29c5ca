#include <benchmark/benchmark.h>
#include <cblas.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/core/thread_pool.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"

namespace cambrian {
namespace {

// A population of perceptrons, one shared batch: both sides do the same arithmetic on the same
// memory.
constexpr int population = 256;
constexpr int batch = 64;
constexpr int inputs = 784;
constexpr int hidden = 128;
constexpr int outputs = 10;

std::vector<float> normals(std::size_t count, std::uint64_t id) {
    std::vector<float> values(count);
    RandomStream stream(random_key(1, "bench"), id);
    stream.field().fill_normal(0, values);
    return values;
}

std::unique_ptr<Buffer> filled(Backend& backend, std::size_t count, std::uint64_t id) {
    auto buffer = backend.allocate(ValueType::real, static_cast<std::int64_t>(count));
    const std::vector<float> values = normals(count, id);
    backend.upload(*buffer, 0, std::span<const float>(values));
    return buffer;
}

void count_work(benchmark::State& state) {
    const double flops = 2.0 * population * batch * hidden * (inputs + outputs);
    state.counters["flops"] =
        benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate);
}

void population_mlp(benchmark::State& state) {
    const auto backend = make_cpu_backend({.threads = static_cast<int>(state.range(0))});
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {batch, inputs});
    const Var w1 = graph.input("w1", ValueType::real, {inputs, hidden}, true);
    const Var b1 = graph.input("b1", ValueType::real, {hidden}, true);
    const Var w2 = graph.input("w2", ValueType::real, {hidden, outputs}, true);
    const Var b2 = graph.input("b2", ValueType::real, {outputs}, true);
    const Var h = activate(matmul(x, w1) + b1, Activation::relu);
    graph.output(matmul(h, w2) + b2);
    const auto program = backend->compile(graph);
    std::vector<std::unique_ptr<Buffer>> buffers;
    std::vector<Binding> bindings;
    for (const Var input : {x, w1, b1, w2, b2}) {
        const auto elements = static_cast<std::size_t>(input.shape().elements());
        buffers.push_back(
            filled(*backend, elements * (input.info().per_individual ? population : 1), 1));
        bindings.push_back({buffers.back().get(), 0});
    }
    const auto result = backend->allocate(ValueType::real, population * batch * outputs);
    const Binding output[] = {{result.get(), 0}};
    for (auto iteration : state) {
        program->run(population, bindings, output);
    }
    count_work(state);
}

struct AlignedFloats {
    explicit AlignedFloats(const std::vector<float>& values)
        : data(static_cast<float*>(
              std::aligned_alloc(64, (values.size() * sizeof(float) + 63) / 64 * 64))) {
        std::copy(values.begin(), values.end(), data);
    }
    ~AlignedFloats() { std::free(data); }
    AlignedFloats(const AlignedFloats&) = delete;
    AlignedFloats& operator=(const AlignedFloats&) = delete;
    float* data;
};

void add_bias(float* rows, const float* bias, int width, bool rectify) {
    for (int row = 0; row < batch; ++row) {
        float* values = rows + row * width;
        for (int i = 0; i < width; ++i) {
            const float value = values[i] + bias[i];
            values[i] = rectify && !(value > 0.0F) ? 0.0F : value;
        }
    }
}

void population_mlp_by_hand(benchmark::State& state) {
    ThreadPool pool(static_cast<int>(state.range(0)));
    const AlignedFloats x(normals(batch * inputs, 1));
    const AlignedFloats w1(normals(std::size_t{population} * inputs * hidden, 1));
    const AlignedFloats b1(normals(population * hidden, 1));
    const AlignedFloats w2(normals(population * hidden * outputs, 1));
    const AlignedFloats b2(normals(population * outputs, 1));
    const AlignedFloats h(
        std::vector<float>(static_cast<std::size_t>(pool.threads()) * batch * hidden));
    const AlignedFloats y(std::vector<float>(population * batch * outputs));
    for (auto iteration : state) {
        pool.for_each(population, [&](std::int64_t p, int worker) {
            float* layer = h.data + worker * batch * hidden;
            float* result = y.data + p * batch * outputs;
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, batch, hidden, inputs, 1.0F,
                        x.data, inputs, w1.data + p * inputs * hidden, hidden, 0.0F, layer, hidden);
            add_bias(layer, b1.data + p * hidden, hidden, true);
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, batch, outputs, hidden, 1.0F,
                        layer, hidden, w2.data + p * hidden * outputs, outputs, 0.0F, result,
                        outputs);
            add_bias(result, b2.data + p * outputs, outputs, false);
        });
        benchmark::DoNotOptimize(y.data);
    }
    count_work(state);
}

BENCHMARK(population_mlp)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(population_mlp_by_hand)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();

/// A chain of elementwise nodes on a scalar of each individual.
Graph chain(int nodes) {
    Graph graph;
    Var x = graph.input("x", ValueType::real, {}, true);
    const Var y = graph.input("y", ValueType::real, {}, true);
    for (int i = 0; i < nodes; ++i) {
        x = i % 2 == 0 ? x + y : x * y;
    }
    graph.output(x);
    return graph;
}

/// Time of one node for a block of `range` individuals.
void node_of_a_group(benchmark::State& state) {
    constexpr int nodes = 64;
    const auto backend = make_cpu_backend({});
    const auto program = backend->compile(chain(nodes));
    const std::int64_t individuals = state.range(0);
    const auto x = filled(*backend, static_cast<std::size_t>(individuals), 1);
    const auto y = filled(*backend, static_cast<std::size_t>(individuals), 2);
    const Binding bindings[] = {{x.get(), 0}, {y.get(), 0}};
    const auto result = backend->allocate(ValueType::real, individuals);
    const Binding output[] = {{result.get(), 0}};
    for (auto iteration : state) {
        program->run(individuals, bindings, output);
    }
    state.counters["node"] = benchmark::Counter(
        nodes, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(node_of_a_group)->Arg(1)->Arg(256);

void compile_twenty_nodes(benchmark::State& state) {
    const auto backend = make_cpu_backend({});
    const Graph graph = chain(20);
    for (auto iteration : state) {
        benchmark::DoNotOptimize(backend->compile(graph));
    }
}
BENCHMARK(compile_twenty_nodes);

/// One step of a scan over small networks of their own: 4-16-2, as in a rollout.
void scan_step_of_small_networks(benchmark::State& state) {
    constexpr int steps = 500;
    constexpr int individuals = 256;
    const auto backend = make_cpu_backend({});
    Graph body;
    const Var carry = body.input("carry", ValueType::real, {1, 4});
    const Var w1 = body.input("w1", ValueType::real, {4, 16});
    const Var w2 = body.input("w2", ValueType::real, {16, 2});
    const Var action = matmul(tanh(matmul(carry, w1)), w2);
    const std::vector<Var> parts{action, slice(carry, 1, 0, 2)};
    body.output(tanh(concat(parts, 1)));
    Graph graph;
    const std::vector<Var> carries{graph.input("x", ValueType::real, {1, 4}, true)};
    const std::vector<Var> weights{graph.input("w1", ValueType::real, {4, 16}, true),
                                   graph.input("w2", ValueType::real, {16, 2}, true)};
    graph.output(scan(std::move(body), carries, {}, weights, {.length = steps}).carries[0]);
    const auto program = backend->compile(graph);
    const auto x = filled(*backend, individuals * 4, 1);
    const auto a = filled(*backend, individuals * 64, 2);
    const auto b = filled(*backend, individuals * 32, 3);
    const Binding bindings[] = {{x.get(), 0}, {a.get(), 0}, {b.get(), 0}};
    const auto result = backend->allocate(ValueType::real, individuals * 4);
    const Binding output[] = {{result.get(), 0}};
    for (auto iteration : state) {
        program->run(individuals, bindings, output);
    }
    state.counters["step"] = benchmark::Counter(
        steps, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(scan_step_of_small_networks)->Unit(benchmark::kMillisecond);

void fill_normal(benchmark::State& state) {
    std::vector<float> values(100000);
    const RandomField field{{1}, 1};
    for (auto iteration : state) {
        field.fill_normal(0, values);
        benchmark::DoNotOptimize(values.data());
    }
    state.counters["normal"] = benchmark::Counter(
        static_cast<double>(values.size()),
        benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(fill_normal);

void square_matmul(benchmark::State& state) {
    const std::int64_t n = state.range(0);
    const auto backend =
        make_cpu_backend({.math = state.range(1) == 0 ? Math::strict : Math::fast});
    Graph graph;
    const Var a = graph.input("a", ValueType::real, {n, n}, true);
    const Var b = graph.input("b", ValueType::real, {n, n}, true);
    graph.output(matmul(a, b));
    const auto program = backend->compile(graph);
    const auto left = filled(*backend, static_cast<std::size_t>(64 * n * n), 1);
    const auto right = filled(*backend, static_cast<std::size_t>(64 * n * n), 2);
    const auto result = backend->allocate(ValueType::real, 64 * n * n);
    const Binding bindings[] = {{left.get(), 0}, {right.get(), 0}};
    const Binding output[] = {{result.get(), 0}};
    for (auto iteration : state) {
        program->run(64, bindings, output);
    }
    state.counters["flops"] = benchmark::Counter(static_cast<double>(2 * 64 * n * n * n),
                                                 benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(square_matmul)->ArgsProduct({{16, 32, 48, 64, 128}, {0, 1}});

}  // namespace
}  // namespace cambrian
