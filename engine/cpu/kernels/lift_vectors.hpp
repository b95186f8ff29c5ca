#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "cambrian/engine/core/simd/vector_functions.hpp"
#include "cambrian/engine/cpu/execution/lift.hpp"

/// Loops over rows for functions of vectors.
namespace cambrian::cpu::vector_functions {

namespace detail {

template <std::size_t vectors>
[[gnu::always_inline]] inline Lanes<vectors> load(const float* x) {
    return each<vectors>([&](std::size_t v) { return cpu::load(x + lane(v)); });
}
template <std::size_t vectors>
[[gnu::always_inline]] inline void store(float* result, Lanes<vectors> y) {
    for (std::size_t v = 0; v < vectors; ++v) cpu::store(result + lane(v), y.of[v]);
}

/// Computes as many whole groups of vectors as the rest of a row holds; returns where it ends.
/// Everything is inlined into it: a call would pass vectors through memory.
template <std::size_t vectors, class Vector>
[[gnu::flatten]] std::int64_t run(Vector function, const float* x, float* result,
                                  std::int64_t first, std::int64_t length) {
    std::int64_t i = first;
    for (; i + Lanes<vectors>::count <= length; i += Lanes<vectors>::count)
        store(result + i, function(load<vectors>(x + i)));
    return i;
}

/// The same for a function in two parts. The result may be the operand.
template <std::size_t vectors, class Parts>
[[gnu::flatten]] std::int64_t run_parts(const float* x, float* result, std::int64_t length) {
    constexpr std::int64_t block = 16 * Lanes<vectors>::count;
    alignas(32) std::array<float, static_cast<std::size_t>(block)> between;
    const std::int64_t end = length / Lanes<vectors>::count * Lanes<vectors>::count;
    for (std::int64_t first = 0; first < end; first += block) {
        const std::int64_t count = std::min(block, end - first);
        for (std::int64_t i = 0; i < count; i += Lanes<vectors>::count)
            store(between.data() + i, Parts::first(load<vectors>(x + first + i)));
        for (std::int64_t i = 0; i < count; i += Lanes<vectors>::count)
            store(result + first + i,
                  Parts::second(load<vectors>(x + first + i), load<vectors>(between.data() + i)));
    }
    return end;
}

/// What is left of a row.
template <class Vector>
void run_rest(Vector function, const float* x, float* result, std::int64_t first,
              std::int64_t length) {
    std::int64_t i = run<2>(function, x, result, first, length);
    i = run<1>(function, x, result, i, length);
    if (i < length) {
        const Lanes<1> last{{load_masked(x + i, lane_mask(length - i))}};
        store_first(result + i, function(last).of[0], length - i);
    }
}

}  // namespace detail

/// Lifts a function of one number to rows; where they lie together, by the same function of lanes.
template <class Scalar, class Vector>
constexpr LoopSet lift(Scalar scalar, Vector) {
    LoopSet rows = cpu::lift<float(float)>(scalar);
    rows.contiguous[1] = [](const Pointers& pointers, std::int64_t length, const Nest::Strides&) {
        auto* result = reinterpret_cast<float*>(pointers[0]);
        const auto* x = reinterpret_cast<const float*>(pointers[1]);
        // Six chains at once are the fastest.
        const std::int64_t i = detail::run<6>(Vector{}, x, result, 0, length);
        detail::run_rest(Vector{}, x, result, i, length);
    };
    return rows;
}

/// The same for a function in two parts.
template <class Parts, class Scalar>
constexpr LoopSet lift_parts(Scalar scalar) {
    LoopSet rows = cpu::lift<float(float)>(scalar);
    rows.contiguous[1] = [](const Pointers& pointers, std::int64_t length, const Nest::Strides&) {
        auto* result = reinterpret_cast<float*>(pointers[0]);
        const auto* x = reinterpret_cast<const float*>(pointers[1]);
        const std::int64_t i = detail::run_parts<4, Parts>(x, result, length);
        const auto whole = [](auto own) __attribute__((always_inline)) {
            return Parts::second(own, Parts::first(own));
        };
        detail::run_rest(whole, x, result, i, length);
    };
    return rows;
}

}  // namespace cambrian::cpu::vector_functions
