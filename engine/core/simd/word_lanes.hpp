#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// Vectors of 64-bit lanes of which only the low word counts, so that the product of two words has
// room. A compiler that does not see that the high words do not count makes three products of one.
namespace cambrian {

/// Four lanes, on any processor.
struct WordLanes {
    using Vector [[gnu::vector_size(32)]] = std::uint64_t;
    [[gnu::always_inline]] static inline Vector products(Vector a, Vector b) {
#ifdef __AVX2__
        return reinterpret_cast<Vector>(
            _mm256_mul_epu32(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#else
        return (a & 0xFFFFFFFFU) * (b & 0xFFFFFFFFU);
#endif
    }
    /// The words of two vectors, one after the other.
    [[gnu::always_inline]] static inline void store(std::uint32_t* to, Vector low, Vector high) {
        using Words [[gnu::vector_size(32)]] = std::uint32_t;
        using InMemory [[gnu::vector_size(32), gnu::aligned(4), gnu::may_alias]] = std::uint32_t;
        *reinterpret_cast<InMemory*>(to) = __builtin_shufflevector(
            reinterpret_cast<Words>(low), reinterpret_cast<Words>(high), 0, 2, 4, 6, 8, 10, 12, 14);
    }
};

#if defined(__x86_64__)
/// Eight lanes, for functions whose target is avx512f. Callers ask first.
struct WideWordLanes {
    using Vector [[gnu::vector_size(64)]] = std::uint64_t;
    [[gnu::target("avx512f"), gnu::always_inline]] static inline Vector products(Vector a,
                                                                                 Vector b) {
        constexpr __mmask8 all = 0xFF;
        return reinterpret_cast<Vector>(_mm512_maskz_mul_epu32(all, reinterpret_cast<__m512i>(a),
                                                               reinterpret_cast<__m512i>(b)));
    }
    [[gnu::target("avx512f"), gnu::always_inline]] static inline void store(std::uint32_t* to,
                                                                            Vector low,
                                                                            Vector high) {
        using Words [[gnu::vector_size(64)]] = std::uint32_t;
        using InMemory [[gnu::vector_size(64), gnu::aligned(4), gnu::may_alias]] = std::uint32_t;
        *reinterpret_cast<InMemory*>(to) =
            __builtin_shufflevector(reinterpret_cast<Words>(low), reinterpret_cast<Words>(high), 0,
                                    2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    }
};
#endif

}  // namespace cambrian
