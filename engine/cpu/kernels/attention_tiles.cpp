#include "cambrian/engine/cpu/kernels/attention_tiles.hpp"

#include <array>
#include <cstddef>
#include <limits>

#include "cambrian/engine/core/elementary.hpp"

namespace cambrian::cpu {
namespace {

/// Folds run side by side, so that they become one vector.
constexpr std::int64_t lanes = 8;

template <class Fold>
float fold(const float* s, std::int64_t count, float start, Fold step) {
    std::array<float, lanes> partial{};
    partial.fill(start);
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes)
        for (std::int64_t lane = 0; lane < lanes; ++lane) {
            float& own = partial[static_cast<std::size_t>(lane)];
            own = step(own, s[i + lane]);
        }
    for (std::int64_t lane = 0; i + lane < count; ++lane) {
        float& own = partial[static_cast<std::size_t>(lane)];
        own = step(own, s[i + lane]);
    }
    float result = partial[0];
    for (std::size_t lane = 1; lane < partial.size(); ++lane) result = step(result, partial[lane]);
    return result;
}

}  // namespace

void exponentials(float* s, std::int64_t seen, std::int64_t count, float shift) {
    for (std::int64_t i = 0; i < seen; ++i) s[i] = elementary::exp(s[i] - shift);
    std::fill(s + seen, s + count, 0.0F);
}

float largest_of(const float* s, std::int64_t count) {
    return fold(s, count, -std::numeric_limits<float>::infinity(),
                [](float a, float b) { return b > a ? b : a; });
}

float sum_of(const float* s, std::int64_t count) {
    return fold(s, count, 0.0F, [](float a, float b) { return a + b; });
}

}  // namespace cambrian::cpu
