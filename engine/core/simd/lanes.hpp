#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

// The one place that knows kinds of processors: everybody else writes with the types and functions
// below. Where the compiler may use AVX2 and FMA, they are its instructions; elsewhere the same
// results come from vectors of the compiler, on any processor.
#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#define CAMBRIAN_AVX2 1
#else
#define CAMBRIAN_AVX2 0
#endif

namespace cambrian::cpu {

/// Words of a vector.
constexpr std::int64_t lanes = 8;

/// Eight numbers; + - * < == and so on work lane by lane, comparisons give all bits of a lane or
/// none, condition ? a : b chooses by them.
using FloatVector [[gnu::vector_size(32)]] = float;
using IntVector [[gnu::vector_size(32)]] = std::int32_t;
/// Four numbers, half a vector.
using HalfVector [[gnu::vector_size(16)]] = float;

/// Whether multiply_add rounds once. The bits of fast math depend on it.
constexpr bool fuses_multiply_add = CAMBRIAN_AVX2 == 1;

/// Words of the vectors that so many words take.
constexpr std::int64_t whole_vectors(std::int64_t words) {
    return (words + lanes - 1) / lanes * lanes;
}

/// First word of a vector of a row.
constexpr std::int64_t lane(std::size_t vector) {
    return static_cast<std::int64_t>(vector) * lanes;
}

namespace detail {

// In memory vectors have the alignment of a word, and any word may be read as a float.
using FloatsInMemory [[gnu::vector_size(32), gnu::aligned(4), gnu::may_alias]] = float;
using IntsInMemory [[gnu::vector_size(32), gnu::aligned(4), gnu::may_alias]] = std::int32_t;
using HalfInMemory [[gnu::vector_size(16), gnu::aligned(4), gnu::may_alias]] = float;
using UnsignedVector [[gnu::vector_size(32)]] = std::uint32_t;

}  // namespace detail

[[gnu::always_inline]] inline FloatVector load(const float* from) {
    return *reinterpret_cast<const detail::FloatsInMemory*>(from);
}
[[gnu::always_inline]] inline IntVector load(const std::int32_t* from) {
    return *reinterpret_cast<const detail::IntsInMemory*>(from);
}
[[gnu::always_inline]] inline HalfVector load_half(const float* from) {
    return *reinterpret_cast<const detail::HalfInMemory*>(from);
}
[[gnu::always_inline]] inline void store(float* to, FloatVector values) {
    *reinterpret_cast<detail::FloatsInMemory*>(to) = values;
}
[[gnu::always_inline]] inline void store(std::int32_t* to, IntVector values) {
    *reinterpret_cast<detail::IntsInMemory*>(to) = values;
}
[[gnu::always_inline]] inline void store_half(float* to, HalfVector values) {
    *reinterpret_cast<detail::HalfInMemory*>(to) = values;
}

[[gnu::always_inline]] inline FloatVector repeated(float x) {
    return FloatVector{x, x, x, x, x, x, x, x};
}
[[gnu::always_inline]] inline IntVector repeated(std::int32_t x) {
    return IntVector{x, x, x, x, x, x, x, x};
}

/// One number of memory in every lane; compilers do not make versions of a loop for its strides.
[[gnu::always_inline]] inline FloatVector load_repeated(const float* from) {
#if CAMBRIAN_AVX2
    return _mm256_broadcast_ss(from);
#else
    return repeated(*from);
#endif
}

/// The same bits as numbers of the other kind.
[[gnu::always_inline]] inline IntVector bits_of(FloatVector values) {
    return reinterpret_cast<IntVector>(values);
}
[[gnu::always_inline]] inline FloatVector floats_of(IntVector bits) {
    return reinterpret_cast<FloatVector>(bits);
}

/// Modulo 2^32, which + - << of an IntVector need not be.
[[gnu::always_inline]] inline IntVector wrapped_sum(IntVector a, IntVector b) {
    using Unsigned = detail::UnsignedVector;
    return reinterpret_cast<IntVector>(reinterpret_cast<Unsigned>(a) +
                                       reinterpret_cast<Unsigned>(b));
}
[[gnu::always_inline]] inline IntVector wrapped_difference(IntVector a, IntVector b) {
    using Unsigned = detail::UnsignedVector;
    return reinterpret_cast<IntVector>(reinterpret_cast<Unsigned>(a) -
                                       reinterpret_cast<Unsigned>(b));
}
template <int bits>
[[gnu::always_inline]] inline IntVector shifted_left(IntVector words) {
    return reinterpret_cast<IntVector>(reinterpret_cast<detail::UnsignedVector>(words) << bits);
}

/// All lanes below `count`.
[[gnu::always_inline]] inline IntVector lane_mask(std::int64_t count) {
    return repeated(static_cast<std::int32_t>(count)) > IntVector{0, 1, 2, 3, 4, 5, 6, 7};
}

/// The lanes of a mask, 0 elsewhere; words of other lanes are not touched.
[[gnu::always_inline]] inline FloatVector load_masked(const float* from, IntVector mask) {
#if CAMBRIAN_AVX2
    return _mm256_maskload_ps(from, reinterpret_cast<__m256i>(mask));
#else
    FloatVector values{};
    for (int i = 0; i < 8; ++i)
        if (mask[i] != 0) values[i] = from[i];
    return values;
#endif
}

/// Loads the lanes below `count`, at most four; the others are 0.
[[gnu::always_inline]] inline HalfVector load_half(const float* from, std::int64_t count) {
#if CAMBRIAN_AVX2
    const __m128i mask =
        _mm_cmpgt_epi32(_mm_set1_epi32(static_cast<int>(count)), _mm_setr_epi32(0, 1, 2, 3));
    return _mm_maskload_ps(from, mask);
#else
    HalfVector values{};
    for (int i = 0; i < 4; ++i)
        if (i < count) values[i] = from[i];
    return values;
#endif
}

/// Stores the lanes below `count`, which is below `lanes`. Masked stores take many cycles on some
/// processors.
[[gnu::always_inline]] inline void store_first(float* to, FloatVector values, std::int64_t count) {
#if CAMBRIAN_AVX2
    __m128 part = _mm256_castps256_ps128(values);
    if ((count & 4) != 0) {
        _mm_storeu_ps(to, part);
        part = _mm256_extractf128_ps(values, 1);
        to += 4;
    }
    if ((count & 2) != 0) {
        _mm_storel_pi(reinterpret_cast<__m64*>(to), part);
        part = _mm_movehl_ps(part, part);
        to += 2;
    }
    if ((count & 1) != 0) _mm_store_ss(to, part);
#else
    for (int i = 0; i < count; ++i) to[i] = values[i];
#endif
}

/// a b + c, rounded once where fuses_multiply_add, else after each operation: a call for every lane
/// would take the time of many additions.
[[gnu::always_inline]] inline FloatVector multiply_add(FloatVector a, FloatVector b,
                                                       FloatVector c) {
#if CAMBRIAN_AVX2
    return _mm256_fmadd_ps(a, b, c);
#else
    return a * b + c;
#endif
}

/// c - a b as if rounded once, where a b or the result is exactly a float.
[[gnu::always_inline]] inline FloatVector exact_rest(FloatVector c, FloatVector a, FloatVector b) {
#if CAMBRIAN_AVX2
    return _mm256_fnmadd_ps(a, b, c);
#else
    // A double holds the product of floats.
    using Doubles [[gnu::vector_size(64)]] = double;
    const auto wide = [](FloatVector x) { return __builtin_convertvector(x, Doubles); };
    return __builtin_convertvector(wide(c) - wide(a) * wide(b), FloatVector);
#endif
}

/// a < b ? a : b, so b where one of them is NaN.
[[gnu::always_inline]] inline FloatVector min_of(FloatVector a, FloatVector b) {
#if CAMBRIAN_AVX2
    return _mm256_min_ps(a, b);
#else
    return a < b ? a : b;
#endif
}
/// a > b ? a : b, so b where one of them is NaN.
[[gnu::always_inline]] inline FloatVector max_of(FloatVector a, FloatVector b) {
#if CAMBRIAN_AVX2
    return _mm256_max_ps(a, b);
#else
    return a > b ? a : b;
#endif
}
[[gnu::always_inline]] inline IntVector min_of(IntVector a, IntVector b) {
    return a < b ? a : b;
}
[[gnu::always_inline]] inline IntVector max_of(IntVector a, IntVector b) {
    return a > b ? a : b;
}

/// Bit by bit.
[[gnu::always_inline]] inline FloatVector bits_of_both(FloatVector a, FloatVector b) {
#if CAMBRIAN_AVX2
    return _mm256_and_ps(a, b);
#else
    return floats_of(bits_of(a) & bits_of(b));
#endif
}
[[gnu::always_inline]] inline FloatVector bits_of_either(FloatVector a, FloatVector b) {
#if CAMBRIAN_AVX2
    return _mm256_or_ps(a, b);
#else
    return floats_of(bits_of(a) | bits_of(b));
#endif
}

/// Lanes of `yes` where the highest bit of the condition is set, of `no` elsewhere.
[[gnu::always_inline]] inline FloatVector choose_by_sign(FloatVector condition, FloatVector yes,
                                                         FloatVector no) {
#if CAMBRIAN_AVX2
    return _mm256_blendv_ps(no, yes, condition);
#else
    return bits_of(condition) < 0 ? yes : no;
#endif
}

/// Whether the highest bit of every lane is set.
[[gnu::always_inline]] inline bool all_signs_set(FloatVector values) {
#if CAMBRIAN_AVX2
    return _mm256_movemask_ps(values) == 0xFF;
#else
    const IntVector bits = bits_of(values);
    std::int32_t all = -1;
    for (int i = 0; i < 8; ++i) all &= bits[i];
    return all < 0;
#endif
}

/// The second half after the first.
[[gnu::always_inline]] inline FloatVector joined(HalfVector first, HalfVector second) {
#if CAMBRIAN_AVX2
    return _mm256_insertf128_ps(_mm256_castps128_ps256(first), second, 1);
#else
    return __builtin_shufflevector(first, second, 0, 1, 2, 3, 4, 5, 6, 7);
#endif
}

struct FourVectors {
    FloatVector vectors[4];
};

/// The columns of eight rows of four words each, which load(0) to load(7) give.
template <class Load>
[[gnu::always_inline]] inline FourVectors transposed(const Load& load) {
    // Row r and row r + 4 side by side, so that the rest stays inside halves.
    const auto pair = [&](std::int64_t r) __attribute__((always_inline)) {
        return joined(load(r), load(r + 4));
    };
    const FloatVector row0 = pair(0);
    const FloatVector row1 = pair(1);
    const FloatVector row2 = pair(2);
    const FloatVector row3 = pair(3);
    const FloatVector a = __builtin_shufflevector(row0, row1, 0, 8, 1, 9, 4, 12, 5, 13);
    const FloatVector b = __builtin_shufflevector(row0, row1, 2, 10, 3, 11, 6, 14, 7, 15);
    const FloatVector c = __builtin_shufflevector(row2, row3, 0, 8, 1, 9, 4, 12, 5, 13);
    const FloatVector d = __builtin_shufflevector(row2, row3, 2, 10, 3, 11, 6, 14, 7, 15);
    return {{__builtin_shufflevector(a, c, 0, 1, 8, 9, 4, 5, 12, 13),
             __builtin_shufflevector(a, c, 2, 3, 10, 11, 6, 7, 14, 15),
             __builtin_shufflevector(b, d, 0, 1, 8, 9, 4, 5, 12, 13),
             __builtin_shufflevector(b, d, 2, 3, 10, 11, 6, 7, 14, 15)}};
}

/// The same of rows that begin at row(0) to row(7).
template <class Row>
[[gnu::always_inline]] inline FourVectors load_transposed(const Row& row) {
    return transposed([&](std::int64_t r)
                          __attribute__((always_inline)) { return load_half(row(r)); });
}

/// The same of rows that have `count` words, below four; the others are 0.
template <class Row>
[[gnu::always_inline]] inline FourVectors load_transposed(const Row& row, std::int64_t count) {
    return transposed([&](std::int64_t r)
                          __attribute__((always_inline)) { return load_half(row(r), count); });
}

/// Four columns of four rows, `stride` words apart, as rows side by side.
inline void transpose_block(const float* from, std::int64_t stride, float* to) {
    const HalfVector row0 = load_half(from);
    const HalfVector row1 = load_half(from + stride);
    const HalfVector row2 = load_half(from + 2 * stride);
    const HalfVector row3 = load_half(from + 3 * stride);
    const HalfVector a = __builtin_shufflevector(row0, row1, 0, 4, 1, 5);
    const HalfVector b = __builtin_shufflevector(row0, row1, 2, 6, 3, 7);
    const HalfVector c = __builtin_shufflevector(row2, row3, 0, 4, 1, 5);
    const HalfVector d = __builtin_shufflevector(row2, row3, 2, 6, 3, 7);
    store_half(to, __builtin_shufflevector(a, c, 0, 1, 4, 5));
    store_half(to + 4, __builtin_shufflevector(a, c, 2, 3, 6, 7));
    store_half(to + 8, __builtin_shufflevector(b, d, 0, 1, 4, 5));
    store_half(to + 12, __builtin_shufflevector(b, d, 2, 3, 6, 7));
}

#if CAMBRIAN_AVX2

/// Sixteen numbers, for functions whose target is avx512f. Callers ask first.
using WideVector [[gnu::vector_size(64)]] = float;
constexpr std::int64_t wide_lanes = 16;

inline bool has_wide_vectors() {
    return __builtin_cpu_supports("avx512f") != 0;
}
[[gnu::target("avx512f"), gnu::always_inline]] inline WideVector wide_load(const float* from) {
    return _mm512_loadu_ps(from);
}
[[gnu::target("avx512f"), gnu::always_inline]] inline void wide_store(float* to,
                                                                      WideVector values) {
    _mm512_storeu_ps(to, values);
}
[[gnu::target("avx512f"), gnu::always_inline]] inline WideVector wide_repeated(float x) {
    return _mm512_set1_ps(x);
}
[[gnu::target("avx512f"), gnu::always_inline]] inline WideVector wide_add(WideVector a,
                                                                          WideVector b) {
    return _mm512_add_ps(a, b);
}
[[gnu::target("avx512f"), gnu::always_inline]] inline WideVector wide_multiply(WideVector a,
                                                                               WideVector b) {
    return _mm512_mul_ps(a, b);
}
[[gnu::target("avx512f"), gnu::always_inline]] inline WideVector wide_multiply_add(WideVector a,
                                                                                   WideVector b,
                                                                                   WideVector c) {
    return _mm512_fmadd_ps(a, b, c);
}

#endif

/// Calls body(index) for every constant index below `count`. An array that is only indexed by them
/// stays in registers; in a loop the compiler writes it to memory at every step.
template <std::size_t count, class Body>
[[gnu::always_inline]] inline void unrolled(const Body& body) {
    [&]<std::size_t... index>(std::index_sequence<index...>) __attribute__((always_inline)) {
        (body(std::integral_constant<std::size_t, index>{}), ...);
    }
    (std::make_index_sequence<count>{});
}

}  // namespace cambrian::cpu
