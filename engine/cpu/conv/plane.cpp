#include "cambrian/engine/cpu/conv/tile.hpp"

#include <algorithm>
#include <array>

#include "cambrian/engine/core/simd/lanes.hpp"

namespace cambrian::cpu {

namespace {

constexpr std::size_t max_vectors = 6;

template <std::size_t count, bool fused>
void sums_of(const ConvPlane& plane, const ConvVector* vectors) {
    FloatVector sums[count];
    const float* from[count];
    unrolled<count>([&](auto v) __attribute__((always_inline)) {
        sums[v] = FloatVector{};
        from[v] = plane.windows + vectors[v].window;
    });
    const std::size_t depth = plane.offsets.size();
    const std::int64_t* offsets = plane.offsets.data();
    const float* weights = plane.weights;
    for (std::size_t k = 0; k < depth; ++k) {
        const FloatVector weight = load_repeated(weights + k);
        const std::int64_t offset = offsets[k];
        unrolled<count>([&](auto v) __attribute__((always_inline)) {
            const FloatVector words = load(from[v] + offset);
            sums[v] = fused ? multiply_add(weight, words, sums[v]) : sums[v] + weight * words;
        });
    }
    unrolled<count>([&](auto v) __attribute__((always_inline)) {
        const FloatVector sum =
            plane.bias == nullptr ? sums[v] : sums[v] + load_repeated(plane.bias);
        float* to = plane.result + vectors[v].result;
        if (vectors[v].count == lanes) {
            store(to, sum);
        } else {
            store_first(to, sum, vectors[v].count);
        }
    });
}

using Kernel = void (*)(const ConvPlane& plane, const ConvVector* vectors);

template <bool fused, std::size_t... index>
constexpr std::array<Kernel, sizeof...(index)> kernels(std::index_sequence<index...>) {
    return {sums_of<index + 1, fused>...};
}

}  // namespace

void ConvPlane::run(std::span<const ConvVector> vectors, bool is_fused) const {
    using Indices = std::make_index_sequence<max_vectors>;
    static constexpr std::array table{kernels<false>(Indices{}), kernels<true>(Indices{})};
    while (!vectors.empty()) {
        const std::size_t count = std::min(vectors.size(), max_vectors);
        table[is_fused ? 1 : 0][count - 1](*this, vectors.data());
        vectors = vectors.subspan(count);
    }
}

}  // namespace cambrian::cpu
