#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "cambrian/engine/core/elementary.hpp"
#include "cambrian/engine/core/simd/lanes.hpp"

/// Elementary functions of eight numbers at once: the bits of core/elementary.inl in fewer
/// instructions than a compiler finds there. A difference that is exact there is one fused
/// instruction here, tests on the bits are comparisons with the same outcome; a test compares.
namespace cambrian::cpu::vector_functions {

/// Eight floats in each of several vectors: their independent chains of operations hide each
/// other's latency.
template <std::size_t vectors>
struct Lanes {
    static constexpr std::int64_t count = lane(vectors);
    FloatVector of[vectors];
};

namespace detail {

/// The same bits as integers.
template <std::size_t vectors>
struct Words {
    IntVector of[vectors];
};

[[gnu::always_inline]] inline FloatVector all(float x) {
    return cpu::repeated(x);
}
[[gnu::always_inline]] inline IntVector all_words(std::uint32_t x) {
    return cpu::repeated(static_cast<std::int32_t>(x));
}

/// The results of a function of the index of a vector.
template <std::size_t n, class Function>
[[gnu::always_inline]] inline Lanes<n> each(Function function) {
    return [&]<std::size_t... i>(std::index_sequence<i...>) {
        return Lanes<n>{{function(i)...}};
    }
    (std::make_index_sequence<n>{});
}
template <std::size_t n, class Function>
[[gnu::always_inline]] inline Words<n> each_word(Function function) {
    return [&]<std::size_t... i>(std::index_sequence<i...>) {
        return Words<n>{{function(i)...}};
    }
    (std::make_index_sequence<n>{});
}

template <std::size_t n>
[[gnu::always_inline]] inline Lanes<n> repeated(float x) {
    return each<n>([&](std::size_t) { return all(x); });
}
template <std::size_t n>
[[gnu::always_inline]] inline Words<n> repeated(std::uint32_t x) {
    return each_word<n>([&](std::size_t) { return all_words(x); });
}
template <std::size_t n>
[[gnu::always_inline]] inline Words<n> words_of(Lanes<n> x) {
    return each_word<n>([&](std::size_t i) { return bits_of(x.of[i]); });
}
template <std::size_t n>
[[gnu::always_inline]] inline Lanes<n> lanes_of(Words<n> x) {
    return each<n>([&](std::size_t i) { return floats_of(x.of[i]); });
}

template <std::size_t n>
[[gnu::always_inline]] inline Lanes<n> operator+(Lanes<n> a, Lanes<n> b) {
    return each<n>([&](std::size_t i) { return a.of[i] + b.of[i]; });
}
template <std::size_t n>
[[gnu::always_inline]] inline Lanes<n> operator-(Lanes<n> a, Lanes<n> b) {
    return each<n>([&](std::size_t i) { return a.of[i] - b.of[i]; });
}
template <std::size_t n>
[[gnu::always_inline]] inline Lanes<n> operator*(Lanes<n> a, Lanes<n> b) {
    return each<n>([&](std::size_t i) { return a.of[i] * b.of[i]; });
}
template <std::size_t n>
[[gnu::always_inline]] inline Lanes<n> operator&(Lanes<n> a, Lanes<n> b) {
    return each<n>([&](std::size_t i) { return bits_of_both(a.of[i], b.of[i]); });
}
template <std::size_t n>
[[gnu::always_inline]] inline Lanes<n> operator|(Lanes<n> a, Lanes<n> b) {
    return each<n>([&](std::size_t i) { return bits_of_either(a.of[i], b.of[i]); });
}
template <std::size_t n>
[[gnu::always_inline]] inline Words<n> operator+(Words<n> a, Words<n> b) {
    return each_word<n>([&](std::size_t i) { return wrapped_sum(a.of[i], b.of[i]); });
}
template <std::size_t n>
[[gnu::always_inline]] inline Words<n> operator-(Words<n> a, Words<n> b) {
    return each_word<n>([&](std::size_t i) { return wrapped_difference(a.of[i], b.of[i]); });
}
template <std::size_t n>
[[gnu::always_inline]] inline Words<n> operator&(Words<n> a, Words<n> b) {
    return each_word<n>([&](std::size_t i) { return a.of[i] & b.of[i]; });
}
template <std::size_t n>
[[gnu::always_inline]] inline Lanes<n> operator+(float a, Lanes<n> b) {
    return repeated<n>(a) + b;
}
template <std::size_t n>
[[gnu::always_inline]] inline Lanes<n> operator-(float a, Lanes<n> b) {
    return repeated<n>(a) - b;
}
template <std::size_t n>
[[gnu::always_inline]] inline Lanes<n> operator*(float a, Lanes<n> b) {
    return repeated<n>(a) * b;
}
template <std::size_t n>
[[gnu::always_inline]] inline Lanes<n> operator-(Lanes<n> a, float b) {
    return a - repeated<n>(b);
}

/// a < limit ? a : limit for numbers, a where it is none.
template <std::size_t n>
[[gnu::always_inline]] inline Lanes<n> at_most(Lanes<n> a, float limit) {
    return each<n>([&](std::size_t i) { return min_of(all(limit), a.of[i]); });
}
template <std::size_t n>
[[gnu::always_inline]] inline Lanes<n> at_least(Lanes<n> a, float limit) {
    return each<n>([&](std::size_t i) { return max_of(all(limit), a.of[i]); });
}
template <std::size_t n>
[[gnu::always_inline]] inline Words<n> at_most(Words<n> a, std::uint32_t limit) {
    return each_word<n>([&](std::size_t i) { return min_of(a.of[i], all_words(limit)); });
}
/// All bits set where it holds.
template <std::size_t n>
[[gnu::always_inline]] inline Lanes<n> below(Lanes<n> a, float limit) {
    return each<n>([&](std::size_t i) { return floats_of(a.of[i] < all(limit)); });
}
template <std::size_t n>
[[gnu::always_inline]] inline Words<n> above(Words<n> a, std::uint32_t limit) {
    return each_word<n>([&](std::size_t i) { return a.of[i] > all_words(limit); });
}
template <std::size_t n>
[[gnu::always_inline]] inline bool holds_for_all(Lanes<n> condition) {
    FloatVector all_of = condition.of[0];
    for (std::size_t i = 1; i < n; ++i) all_of = bits_of_both(all_of, condition.of[i]);
    return all_signs_set(all_of);
}
/// Chosen by the sign of the condition.
template <std::size_t n>
[[gnu::always_inline]] inline Lanes<n> choose(Lanes<n> condition, Lanes<n> yes, Lanes<n> no) {
    return each<n>(
        [&](std::size_t i) { return choose_by_sign(condition.of[i], yes.of[i], no.of[i]); });
}

/// x where the operand is a number, the one NaN of all functions elsewhere.
template <std::size_t n>
[[gnu::always_inline]] inline Lanes<n> where_number(Lanes<n> operand, Lanes<n> x) {
    const Lanes<n> none =
        each<n>([&](std::size_t i) { return floats_of(operand.of[i] != operand.of[i]); });
    return choose(none, lanes_of(repeated<n>(elementary::not_a_number_bits)), x);
}

/// x - a b, rounded once.
template <std::size_t n>
[[gnu::always_inline]] inline Lanes<n> rest(Lanes<n> x, Lanes<n> a, float b) {
    return each<n>([&](std::size_t i) { return exact_rest(x.of[i], a.of[i], all(b)); });
}
/// 1 - a b, rounded once.
template <std::size_t n>
[[gnu::always_inline]] inline Lanes<n> rest_of_one(Lanes<n> a, Lanes<n> b) {
    return each<n>([&](std::size_t i) { return exact_rest(all(1.0F), a.of[i], b.of[i]); });
}

/// The bits of e^x without the test whether it is normal, for -104 <= x <= 89.
template <std::size_t n>
[[gnu::always_inline]] inline Words<n> power_bits(Lanes<n> x) {
    const Lanes<n> shifted = elementary::rounding_shift + elementary::log2_e * x;
    const Lanes<n> shift = shifted - elementary::rounding_shift;
    // The product is exact in elementary.inl too.
    const Lanes<n> r_0 = rest(x, shift, elementary::ln_2_high);
    const Lanes<n> r = r_0 - elementary::ln_2_low * shift;
    const Lanes<n> p_4 = 0.00836959109F + 0.0013951693F * r;
    const Lanes<n> p_3 = 0.0416661873F + r * p_4;
    const Lanes<n> p_2 = 0.166665137F + r * p_3;
    const Lanes<n> p_1 = 0.5F + r * p_2;
    const Lanes<n> fraction = 1.0F + (r + (r * r) * p_1);
    // The bits of the rounding shift leave the word.
    const Words<n> exponent =
        each_word<n>([&](std::size_t i) { return shifted_left<23>(words_of(shifted).of[i]); });
    return words_of(fraction) + exponent;
}

/// Positive bits, zero where the number is not normal.
template <std::size_t n>
[[gnu::always_inline]] inline Words<n> normal(Words<n> bits) {
    return bits & above(bits, 0x007FFFFFU);
}

template <std::size_t n>
[[gnu::always_inline]] inline Lanes<n> reciprocal_inside(Lanes<n> x) {
    const Lanes<n> guess = lanes_of(repeated<n>(0x7EF311C7U) - words_of(x));
    const Lanes<n> once = guess * (2.0F - x * guess);
    const Lanes<n> twice = once * (2.0F - x * once);
    return twice + twice * (1.0F - x * twice);
}

}  // namespace detail

template <std::size_t n>
[[gnu::always_inline]] inline Lanes<n> exp(Lanes<n> x) {
    using namespace detail;
    // Beyond 88.9 every sum of exponents is the field of infinity.
    const Words<n> bits = normal(power_bits(at_most(at_least(x, -104.0F), 88.9F)));
    return where_number(x, lanes_of(at_most(bits, elementary::exponent_mask)));
}

/// In two parts: together they need more registers than there are, so rows take one loop for each.
struct Sigmoid {
    /// e^-|x|
    template <std::size_t n>
    [[gnu::always_inline]] static Lanes<n> first(Lanes<n> x) {
        using namespace detail;
        const Lanes<n> negative = x | repeated<n>(-0.0F);
        return lanes_of(normal(power_bits(at_least(negative, -104.0F))));
    }
    template <std::size_t n>
    [[gnu::always_inline]] static Lanes<n> second(Lanes<n> x, Lanes<n> power) {
        using namespace detail;
        const Lanes<n> sum = 1.0F + power;
        const Lanes<n> lost = power - (sum - 1.0F);
        const Lanes<n> inverse = reciprocal_inside(sum);
        // The remainder is exact in elementary.inl too.
        const Lanes<n> error = rest_of_one(inverse, sum) - inverse * lost;
        const Lanes<n> corrected = inverse + inverse * error;
        const Lanes<n> below_half = choose(below(power, 0.5F), power * corrected, 1.0F - corrected);
        return where_number(x, choose(x, below_half, corrected));
    }
};

/// x sigmoid(x), in the same parts.
struct Silu {
    template <std::size_t n>
    [[gnu::always_inline]] static Lanes<n> first(Lanes<n> x) {
        return Sigmoid::first(x);
    }
    template <std::size_t n>
    [[gnu::always_inline]] static Lanes<n> second(Lanes<n> x, Lanes<n> power) {
        using namespace detail;
        return x * Sigmoid::second(x, power);
    }
};

template <std::size_t n>
[[gnu::always_inline]] inline Lanes<n> tanh(Lanes<n> x) {
    using namespace detail;
    const Lanes<n> sign = x & repeated<n>(-0.0F);
    const Words<n> bits = words_of(x) & repeated<n>(elementary::magnitude_mask);
    const Lanes<n> magnitude = lanes_of(bits);
    const Lanes<n> limited = at_most(magnitude, 9.5F);
    const Lanes<n> z = limited * limited;
    const Lanes<n> p_4 = 0.0217025522F + z * (-0.00818160549F + 0.00214652368F * z);
    const Lanes<n> p_2 = 0.133332089F + z * (-0.0539471321F + z * p_4);
    const Lanes<n> p_1 = -0.333333313F + z * p_2;
    const Lanes<n> near = limited + (limited * z) * p_1;
    const Lanes<n> is_near = below(magnitude, 0.625F);
    const auto finished = [&](Lanes<n> chosen) __attribute__((always_inline)) {
        const Lanes<n> large = lanes_of(above(bits, 0x38FFFFFFU));
        const Lanes<n> value = choose(large, chosen, lanes_of(normal(bits)));
        return where_number(x, value | sign);
    };
    // Networks at rest stay near zero, where the power is not needed.
    if (holds_for_all(is_near)) return finished(near);
    const Lanes<n> power = lanes_of(power_bits(2.0F * limited));
    const Lanes<n> far = 1.0F - 2.0F * reciprocal_inside(1.0F + power);
    return finished(choose(is_near, near, far));
}

template <std::size_t n>
[[gnu::always_inline]] inline Lanes<n> gelu(Lanes<n> x) {
    using namespace detail;
    const Lanes<n> inner = x + 0.044715F * ((x * x) * x);
    return (0.5F * x) * (1.0F + tanh(0.797884561F * inner));
}

}  // namespace cambrian::cpu::vector_functions
