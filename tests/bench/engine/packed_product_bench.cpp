#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/cpu/gemm/packed_product.hpp"

// Products of some rows with a matrix of 4096² numbers that stays in its codes, one thread, every
// format beside float32; bytes are those of the matrix. Argument: rows.
namespace cambrian {
namespace {

constexpr MatrixExtents extents{4096, 4096};

std::vector<float> normal_values(std::int64_t count) {
    std::vector<float> values(static_cast<std::size_t>(count));
    RandomStream stream(random_key(1, "values"), 0);
    for (float& value : values) value = stream.normal();
    return values;
}

void packed_product_of(benchmark::State& state, Dtype dtype) {
    const std::int64_t batch = state.range(0);
    const QuantisedMatrix matrix =
        quantise(QuantisationScheme(dtype), extents, normal_values(extents.elements()));
    const std::vector<float> x = normal_values(batch * extents.columns);
    std::vector<float> y(static_cast<std::size_t>(batch * extents.rows));
    ThreadPool threads(1);
    for (auto _ : state) {
        cpu::packed_product(matrix, x, batch, y, threads);
        benchmark::DoNotOptimize(y.data());
    }
    state.counters["bytes"] = static_cast<double>(matrix.bytes());
}

const bool registered = [] {
    for (std::size_t i = 0; i < dtype_count; ++i) {
        const auto dtype = static_cast<Dtype>(i);
        benchmark::RegisterBenchmark(("packed_product/" + std::string(name(dtype))).c_str(),
                                     packed_product_of, dtype)
            ->Arg(1)
            ->Arg(16)
            ->Unit(benchmark::kMillisecond);
    }
    return true;
}();

}  // namespace
}  // namespace cambrian
