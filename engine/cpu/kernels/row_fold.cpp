#include "cambrian/engine/cpu/kernels/rows.hpp"

#include <array>
#include <cstddef>

#include "cambrian/engine/core/prefetch.hpp"
#include "cambrian/engine/core/simd/lanes.hpp"

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
    static FloatVector fold(FloatVector sum, FloatVector x) { return sum + x; }
    static IntVector fold(IntVector sum, IntVector x) { return wrapped_sum(sum, x); }
};

struct Max {
    template <class Element>
    static Element fold(Element largest, Element x) {
        return x > largest ? x : largest;
    }
    // The second operand where the two are equal or not ordered, like the choice above.
    static FloatVector fold(FloatVector largest, FloatVector x) { return max_of(x, largest); }
    static IntVector fold(IntVector largest, IntVector x) { return max_of(x, largest); }
};

FloatVector as(const float*, FloatVector words) {
    return words;
}
IntVector as(const std::int32_t*, FloatVector words) {
    return bits_of(words);
}

/// Folds four columns of eight rows: lane r holds row r.
template <class Fold, class Element, class Vector>
[[gnu::always_inline]] inline Vector fold_columns(const Element* x, std::int64_t stride,
                                                  Vector folded) {
    const FourVectors columns = load_transposed([&](std::int64_t r) __attribute__((always_inline)) {
        return reinterpret_cast<const float*>(x + r * stride);
    });
    for (const FloatVector& column : columns.vectors) folded = Fold::fold(folded, as(x, column));
    return folded;
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
    decltype(load(x)) sums[groups];
    for (std::size_t g = 0; g < groups; ++g) sums[g] = load(folded + lane(g));
    std::int64_t k = 0;
    for (; k + 4 <= width; k += 4) {
        if (k % words_per_line == 0)
            for (std::int64_t r = 0; r < lane(groups); ++r)
                prefetch(x + r * stride + k + words_ahead);
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
