#include "cambrian/engine/cpu/kernels/lift_vectors.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <vector>

// The functions of lanes have the bits of elementary.inl, whatever the operand.
namespace cambrian::cpu {
namespace {

template <class Scalar>
void expect_equal_bits(const LoopSet& rows, Scalar scalar, bool one_nan = true) {
    // A stride that is odd comes by every sign, exponent and low bit.
    constexpr std::uint64_t step = 1021;
    constexpr std::uint64_t at_once = 4096;
    std::vector<float> x(at_once);
    std::vector<float> y(at_once);
    for (std::uint64_t first = 0; first < std::uint64_t{1} << 32U; first += at_once * step) {
        for (std::uint64_t i = 0; i < at_once; ++i)
            x[i] = std::bit_cast<float>(static_cast<std::uint32_t>(first + i * step));
        const Pointers pointers{reinterpret_cast<Word*>(y.data()),
                                reinterpret_cast<Word*>(x.data())};
        rows.contiguous[1](pointers, static_cast<std::int64_t>(at_once), {1, 1});
        for (std::uint64_t i = 0; i < at_once; ++i) {
            if (!one_nan && std::isnan(x[i]) && std::isnan(y[i])) continue;
            ASSERT_EQ(std::bit_cast<std::uint32_t>(y[i]),
                      std::bit_cast<std::uint32_t>(scalar(x[i])))
                << x[i];
        }
    }
}

TEST(VectorFunctions, HaveTheBitsOfTheScalarFunctions) {
    const auto exp = [](float x) { return elementary::exp(x); };
    const auto sigmoid = [](float x) { return elementary::sigmoid(x); };
    const auto silu = [](float x) { return x * elementary::sigmoid(x); };
    const auto tanh = [](float x) { return elementary::tanh(x); };
    using vector_functions::lift;
    using vector_functions::lift_parts;
    expect_equal_bits(lift(exp, [](auto x) { return vector_functions::exp(x); }), exp);
    expect_equal_bits(lift_parts<vector_functions::Sigmoid>(sigmoid), sigmoid);
    // A product of two NaNs is either.
    expect_equal_bits(lift_parts<vector_functions::Silu>(silu), silu, false);
    expect_equal_bits(lift(tanh, [](auto x) { return vector_functions::tanh(x); }), tanh);
}

template <class Scalar>
void expect_untouched_end(const LoopSet& rows, Scalar scalar) {
    for (std::int64_t length = 0; length < 130; ++length) {
        std::array<float, 140> x{};
        std::array<float, 140> y{};
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.1F * static_cast<float>(i) - 2.0F;
        y.fill(7.0F);
        const Pointers pointers{reinterpret_cast<Word*>(y.data()),
                                reinterpret_cast<Word*>(x.data())};
        rows.contiguous[1](pointers, length, {1, 1});
        for (std::size_t i = 0; i < x.size(); ++i)
            EXPECT_EQ(y[i], i < static_cast<std::size_t>(length) ? scalar(x[i]) : 7.0F);
    }
}

TEST(VectorFunctions, MayWriteOverTheirOperand) {
    const auto sigmoid = [](float x) { return elementary::sigmoid(x); };
    constexpr LoopSet rows =
        vector_functions::lift_parts<vector_functions::Sigmoid>(decltype(sigmoid){});
    std::vector<float> x(1300);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.01F * static_cast<float>(i) - 6.0F;
    std::vector<float> expected(x.size());
    std::ranges::transform(x, expected.begin(), sigmoid);
    auto* const words = reinterpret_cast<Word*>(x.data());
    rows.contiguous[1]({words, words}, static_cast<std::int64_t>(x.size()), {1, 1});
    EXPECT_EQ(x, expected);
}

TEST(VectorFunctions, WriteNothingAfterTheEndOfARow) {
    const auto tanh = [](float x) { return elementary::tanh(x); };
    const auto sigmoid = [](float x) { return elementary::sigmoid(x); };
    expect_untouched_end(
        vector_functions::lift(tanh, [](auto x) { return vector_functions::tanh(x); }), tanh);
    expect_untouched_end(vector_functions::lift_parts<vector_functions::Sigmoid>(sigmoid), sigmoid);
}

}  // namespace
}  // namespace cambrian::cpu
