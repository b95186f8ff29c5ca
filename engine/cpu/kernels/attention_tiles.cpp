#include "cambrian/engine/cpu/kernels/attention_tiles.hpp"

#include <array>
#include <cstddef>
#include <limits>

#include "cambrian/engine/core/elementary.hpp"

namespace cambrian::cpu {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

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

float largest_of(const float* s, std::int64_t count) {
    return fold(s, count, -infinity, [](float a, float b) { return b > a ? b : a; });
}

float sum_of(const float* s, std::int64_t count) {
    return fold(s, count, 0.0F, [](float a, float b) { return a + b; });
}

}  // namespace

std::int64_t AttentionTiles::gemm_words() const {
    const std::int64_t wide = std::max(sizes.width, sizes.value_width);
    const std::int64_t rows = std::min(max_rows, sizes.rows);
    const std::int64_t keys = std::min(max_keys, sizes.keys);
    const Gemm scores{.m = rows, .n = keys, .k = wide};
    const Gemm by_rows{.m = rows, .n = wide, .k = keys};
    const Gemm by_keys{.m = keys, .n = wide, .k = rows};
    return std::max({scores.enough_words(), by_rows.enough_words(), by_keys.enough_words()});
}

void exponentials(float* s, std::int64_t seen, std::int64_t count, float shift) {
    for (std::int64_t i = 0; i < seen; ++i) s[i] = elementary::exp(s[i] - shift);
    std::fill(s + seen, s + count, 0.0F);
}

OnlineSoftmax::OnlineSoftmax(float* output, std::int64_t count, std::int64_t width)
    : output_(output), count_(count), width_(width) {
    largest_.fill(-infinity);
    sum_.fill(0.0F);
    std::fill_n(output, count * width, 0.0F);
}

void OnlineSoftmax::weigh(std::int64_t row, float* scores, std::int64_t seen, std::int64_t keys) {
    float& largest = largest_[static_cast<std::size_t>(row)];
    float& sum = sum_[static_cast<std::size_t>(row)];
    const float tile_largest = largest_of(scores, seen);
    if (tile_largest > largest) {
        const float factor = elementary::exp(largest - tile_largest);
        for (std::int64_t i = 0; i < width_; ++i) output_[row * width_ + i] *= factor;
        sum *= factor;
        largest = tile_largest;
    }
    exponentials(scores, seen, keys, largest == -infinity ? 0.0F : largest);
    sum += sum_of(scores, seen);
}

float OnlineSoftmax::finish(std::int64_t row) {
    const float sum = sum_[static_cast<std::size_t>(row)];
    if (sum == 0.0F) return -infinity;
    const float factor = elementary::reciprocal(sum);
    for (std::int64_t i = 0; i < width_; ++i) output_[row * width_ + i] *= factor;
    return largest_[static_cast<std::size_t>(row)] + elementary::log(sum);
}

}  // namespace cambrian::cpu
