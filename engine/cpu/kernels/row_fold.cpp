#include "cambrian/engine/cpu/kernels/row_fold.hpp"

#include <immintrin.h>

#include <array>
#include <cstddef>

#include "cambrian/engine/core/simd/lanes.hpp"
#include "cambrian/engine/cpu/kernels/add.hpp"

namespace cambrian::cpu {

namespace {

constexpr std::int64_t words_per_line = 16;
// The processor does not see so many rows coming.
constexpr std::int64_t words_ahead = 64;

struct Sum {
    template <class Element>
    static Element fold(Element sum, Element x) {
        return add(sum, x);
    }
    static __m256 fold(__m256 sum, __m256 x) { return _mm256_add_ps(sum, x); }
    static __m256i fold(__m256i sum, __m256i x) { return _mm256_add_epi32(sum, x); }
};

struct Max {
    template <class Element>
    static Element fold(Element largest, Element x) {
        return x > largest ? x : largest;
    }
    // The second operand where the two are equal or not ordered, like the choice above.
    static __m256 fold(__m256 largest, __m256 x) { return _mm256_max_ps(x, largest); }
    static __m256i fold(__m256i largest, __m256i x) { return _mm256_max_epi32(x, largest); }
};

__m256 load(const float* x) {
    return _mm256_loadu_ps(x);
}
__m256 load(const std::int32_t* x) {
    return _mm256_castsi256_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x)));
}
void store(float* x, __m256 values) {
    _mm256_storeu_ps(x, values);
}
void store(std::int32_t* x, __m256 values) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(x), _mm256_castps_si256(values));
}

template <class Fold>
__m256 fold(const float*, __m256 folded, __m256 x) {
    return Fold::fold(folded, x);
}
template <class Fold>
__m256 fold(const std::int32_t*, __m256 folded, __m256 x) {
    return _mm256_castsi256_ps(Fold::fold(_mm256_castps_si256(folded), _mm256_castps_si256(x)));
}

/// Two half rows, the upper half from the second.
template <class Element>
__m256 halves(const Element* low, const Element* high) {
    const auto* const a = reinterpret_cast<const __m128i*>(low);
    const auto* const b = reinterpret_cast<const __m128i*>(high);
    return _mm256_castsi256_ps(_mm256_loadu2_m128i(b, a));
}

/// Folds four columns of eight rows: lane r holds row r.
template <class Fold, class Element>
[[gnu::always_inline]] inline __m256 fold_columns(const Element* x, std::int64_t stride,
                                                  __m256 folded) {
    const __m256 a = halves(x, x + 4 * stride);
    const __m256 b = halves(x + stride, x + 5 * stride);
    const __m256 c = halves(x + 2 * stride, x + 6 * stride);
    const __m256 d = halves(x + 3 * stride, x + 7 * stride);
    const __m256 ab_low = _mm256_unpacklo_ps(a, b);
    const __m256 ab_high = _mm256_unpackhi_ps(a, b);
    const __m256 cd_low = _mm256_unpacklo_ps(c, d);
    const __m256 cd_high = _mm256_unpackhi_ps(c, d);
    folded = fold<Fold>(x, folded, _mm256_shuffle_ps(ab_low, cd_low, 0x44));
    folded = fold<Fold>(x, folded, _mm256_shuffle_ps(ab_low, cd_low, 0xEE));
    folded = fold<Fold>(x, folded, _mm256_shuffle_ps(ab_high, cd_high, 0x44));
    return fold<Fold>(x, folded, _mm256_shuffle_ps(ab_high, cd_high, 0xEE));
}

template <class Fold, class Element>
void fold_row(const Element* x, std::int64_t from, std::int64_t width, Element& folded) {
    Element result = folded;
    for (std::int64_t k = from; k < width; ++k) result = Fold::fold(result, x[k]);
    folded = result;
}

/// `groups` times eight rows at once.
template <class Fold, std::size_t groups, class Element>
void fold_groups(const Element* x, std::int64_t stride, std::int64_t width, Element* folded) {
    __m256 sums[groups];
    for (std::size_t g = 0; g < groups; ++g) sums[g] = load(folded + lane(g));
    std::int64_t k = 0;
    for (; k + 4 <= width; k += 4) {
        if (k % words_per_line == 0)
            for (std::int64_t r = 0; r < lane(groups); ++r)
                _mm_prefetch(reinterpret_cast<const char*>(x + r * stride + k + words_ahead),
                             _MM_HINT_T0);
        for (std::size_t g = 0; g < groups; ++g)
            sums[g] = fold_columns<Fold>(x + lane(g) * stride + k, stride, sums[g]);
    }
    for (std::size_t g = 0; g < groups; ++g) store(folded + lane(g), sums[g]);
    for (std::int64_t r = 0; k < width && r < lane(groups); ++r)
        fold_row<Fold>(x + r * stride, k, width, folded[r]);
}

template <class Fold, class Element>
void fold_rows(const Element* x, std::int64_t stride, std::int64_t rows, std::int64_t width,
               Element* folded, bool starts) {
    if (starts) {
        for (std::int64_t r = 0; r < rows; ++r) folded[r] = x[r * stride];
        ++x;
        --width;
    }
    std::int64_t r = 0;
    for (; r + 2 * lanes <= rows; r += 2 * lanes)
        fold_groups<Fold, 2>(x + r * stride, stride, width, folded + r);
    for (; r + lanes <= rows; r += lanes)
        fold_groups<Fold, 1>(x + r * stride, stride, width, folded + r);
    for (; r < rows; ++r) fold_row<Fold>(x + r * stride, 0, width, folded[r]);
}

}  // namespace

void fold_sum(const float* x, std::int64_t stride, std::int64_t rows, std::int64_t width,
              float* folded, bool starts) {
    fold_rows<Sum>(x, stride, rows, width, folded, starts);
}

void fold_sum(const std::int32_t* x, std::int64_t stride, std::int64_t rows, std::int64_t width,
              std::int32_t* folded, bool starts) {
    fold_rows<Sum>(x, stride, rows, width, folded, starts);
}

void fold_max(const float* x, std::int64_t stride, std::int64_t rows, std::int64_t width,
              float* folded, bool starts) {
    fold_rows<Max>(x, stride, rows, width, folded, starts);
}

void fold_max(const std::int32_t* x, std::int64_t stride, std::int64_t rows, std::int64_t width,
              std::int32_t* folded, bool starts) {
    fold_rows<Max>(x, stride, rows, width, folded, starts);
}

}  // namespace cambrian::cpu
