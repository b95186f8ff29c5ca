#include <benchmark/benchmark.h>
#include <cblas.h>

#include <memory>
#include <vector>

#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/core/thread_pool.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"

// One product by the engine and by OpenBLAS called directly. Arguments: m, n, k, whether the left
// and the right matrix are transposed, threads; threads of OpenBLAS's side share the rows of C.
// gemm_openblas.py sets the two side by side, for each kernel that OpenBLAS can be told to use.
namespace cambrian {
namespace {

struct Product {
    std::int64_t m, n, k;
    bool left, right;
    int threads;

    explicit Product(const benchmark::State& state)
        : m(state.range(0)),
          n(state.range(1)),
          k(state.range(2)),
          left(state.range(3) != 0),
          right(state.range(4) != 0),
          threads(static_cast<int>(state.range(5))) {}

    void count(benchmark::State& state) const {
        state.counters["flops"] = benchmark::Counter(2.0 * static_cast<double>(m * n * k),
                                                     benchmark::Counter::kIsIterationInvariantRate);
    }
};

std::vector<float> normals(std::int64_t count, std::uint64_t id) {
    std::vector<float> values(static_cast<std::size_t>(count));
    RandomField{random_key(1, "bench"), id}.fill_normal(0, values);
    return values;
}

void gemm_engine(benchmark::State& state) {
    const Product p(state);
    const auto backend = make_cpu_backend({.threads = p.threads});
    Graph graph;
    const Shape left = p.left ? Shape{p.k, p.m} : Shape{p.m, p.k};
    const Shape right = p.right ? Shape{p.n, p.k} : Shape{p.k, p.n};
    const Var a_in = graph.input("a", ValueType::real, left);
    const Var b_in = graph.input("b", ValueType::real, right);
    graph.output(matmul(a_in, b_in, p.left, p.right));
    const auto program = backend->compile(graph);
    const auto a = backend->allocate(ValueType::real, p.m * p.k);
    const auto b = backend->allocate(ValueType::real, p.k * p.n);
    const auto c = backend->allocate(ValueType::real, p.m * p.n);
    backend->upload(*a, 0, std::span<const float>(normals(p.m * p.k, 1)));
    backend->upload(*b, 0, std::span<const float>(normals(p.k * p.n, 2)));
    const Binding inputs[] = {{a.get(), 0}, {b.get(), 0}};
    const Binding outputs[] = {{c.get(), 0}};
    for (auto iteration : state) program->run(1, inputs, outputs);
    p.count(state);
}

void gemm_openblas(benchmark::State& state) {
    const Product p(state);
    ThreadPool pool(p.threads);
    const auto a = normals(p.m * p.k, 1);
    const auto b = normals(p.k * p.n, 2);
    std::vector<float> c(static_cast<std::size_t>(p.m * p.n));
    const auto index = [](std::int64_t extent) { return static_cast<blasint>(extent); };
    for (auto iteration : state) {
        pool.for_each(p.threads, [&](std::int64_t part, int) {
            const std::int64_t first = p.m * part / p.threads;
            const std::int64_t rows = p.m * (part + 1) / p.threads - first;
            if (rows == 0) return;
            cblas_sgemm(CblasRowMajor, p.left ? CblasTrans : CblasNoTrans,
                        p.right ? CblasTrans : CblasNoTrans, index(rows), index(p.n), index(p.k),
                        1.0F, a.data() + first * (p.left ? 1 : p.k), index(p.left ? p.m : p.k),
                        b.data(), index(p.right ? p.k : p.n), 0.0F, c.data() + first * p.n,
                        index(p.n));
        });
        benchmark::DoNotOptimize(c.data());
    }
    p.count(state);
    state.SetLabel(openblas_get_corename());
}

void shapes(benchmark::internal::Benchmark* benchmark) {
    for (const std::int64_t threads : {1, 2}) {
        for (const std::int64_t n : {1024, 256, 64}) benchmark->Args({n, n, n, 0, 0, threads});
        benchmark->Args({1024, 1024, 1024, 0, 1, threads});
        benchmark->Args({1024, 1024, 1024, 1, 0, threads});
        benchmark->Args({1024, 1, 1024, 0, 0, threads});
        benchmark->Args({1, 1024, 1024, 0, 0, threads});
        benchmark->Args({1, 1024, 1024, 0, 1, threads});
        benchmark->Args({64, 128, 784, 0, 0, threads});
        benchmark->Args({784, 128, 128, 1, 0, threads});
        benchmark->Args({128, 128, 10, 0, 1, threads});
    }
    benchmark->ArgNames({"m", "n", "k", "ta", "tb", "threads"})
        ->Unit(benchmark::kMicrosecond)
        ->UseRealTime();
}
BENCHMARK(gemm_engine)->Apply(shapes);
BENCHMARK(gemm_openblas)->Apply(shapes);

}  // namespace
}  // namespace cambrian
