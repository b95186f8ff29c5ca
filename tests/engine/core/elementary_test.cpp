#include "cambrian/engine/core/elementary.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include "cambrian/engine/core/random.hpp"

namespace cambrian {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr double smallest_normal = 0x1p-126;

float without_subnormal(float x) {
    return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0F, x) : x;
}

/// Distance of a result from the exact value in units of the last place of a float of that size;
/// infinite when a special value is wrong.
double error_in_ulp(float actual, double exact) {
    if (std::isnan(exact) || std::isnan(actual)) {
        return std::isnan(exact) == std::isnan(actual) ? 0.0 : HUGE_VAL;
    }
    const float rounded = without_subnormal(static_cast<float>(exact));
    if (rounded == actual && std::signbit(rounded) == std::signbit(actual)) {
        return 0.0;
    }
    // A value that rounds across the smallest normal number may be that number or zero.
    const bool at_the_edge = std::fabs(std::fabs(exact) / smallest_normal - 1.0) < 0x1p-22;
    if (!at_the_edge &&
        (rounded == 0.0F || actual == 0.0F || std::isinf(rounded) || std::isinf(actual))) {
        return HUGE_VAL;
    }
    const int exponent = std::max(std::ilogb(exact), -126);
    return std::fabs(static_cast<double>(actual) - exact) / std::ldexp(1.0, exponent - 23);
}

/// Calls visit(x) for floats of every exponent and both signs, about a million.
template <class Visit>
void for_many_floats(Visit visit) {
    constexpr std::uint64_t stride = 4099;
    for (std::uint64_t bits = 0; bits <= 0xFFFFFFFFU; bits += stride) {
        visit(elementary::bits_to_float(static_cast<std::uint32_t>(bits)));
    }
    for (const float x :
         {0.0F, 1.0F, infinity, not_a_number, 0x1p-126F, 0x1p-149F, 0x1.fffffep127F, 0.5F}) {
        visit(x);
        visit(-x);
    }
}

template <class Own, class Exact>
void expect_within(double ulp, Own own, Exact exact, float limit = infinity) {
    double worst = 0.0;
    float where = 0.0F;
    for_many_floats([&](float x) {
        if (std::fabs(x) > limit && std::isfinite(x)) {
            return;
        }
        const double error = error_in_ulp(own(x), exact(static_cast<double>(without_subnormal(x))));
        if (error > worst) {
            worst = error;
            where = x;
        }
    });
    EXPECT_LE(worst, ulp) << "at " << where;
}

/// The functions of the op table in double: the library's, or these.
namespace exact {
using namespace std;  // NOLINT(google-build-using-namespace)
double rsqrt(double x) {
    return 1.0 / std::sqrt(x);
}
double reciprocal(double x) {
    return 1.0 / x;
}
double sigmoid(double x) {
    return 1.0 / (1.0 + std::exp(-x));
}
}  // namespace exact

/// The largest argument that is promised to be accurate.
float limit_of(std::string_view function) {
    return function == "sin" || function == "cos" ? 8192.0F : infinity;
}

class AccurateFunction : public testing::Test {};
#define CAMBRIAN_REAL_FUNCTION(name, ...)                              \
    TEST_F(AccurateFunction, name) {                                   \
        expect_within(                                                 \
            2.0, [](float x) { return elementary::name(x); },          \
            [](double x) { return exact::name(x); }, limit_of(#name)); \
    }
#include "cambrian/engine/graph/op_table.inl"

TEST(Elementary, DivideIsAccurateOverTheWholeRange) {
    for (const float other : {1.0F, -3.0F, 1e30F, 1e-30F, 1.2e-38F, 3e38F, 0.1F, 0.0F, infinity}) {
        const double c = static_cast<double>(other);
        expect_within(
            2.0, [&](float x) { return elementary::divide(x, other); },
            [&](double x) { return x / c; });
        expect_within(
            2.0, [&](float x) { return elementary::divide(other, x); },
            [&](double x) { return c / x; });
    }
}

TEST(Elementary, DivideIsExactWhenTheQuotientIs) {
    for (int a = -60; a <= 60; ++a) {
        for (int b = 1; b <= 60; ++b) {
            const auto product = static_cast<float>(a * b);
            EXPECT_EQ(elementary::divide(product, static_cast<float>(b)), static_cast<float>(a));
        }
    }
}

double exact_power(float x, float y) {
    const auto wide = [](float z) { return static_cast<long double>(without_subnormal(z)); };
    return static_cast<double>(std::pow(wide(x), wide(y)));
}

void expect_power(double ulp, float x, float y) {
    EXPECT_LE(error_in_ulp(elementary::pow(x, y), exact_power(x, y)), ulp) << x << " to the " << y;
}

TEST(Elementary, PowIsAccurate) {
    RandomStream random(RandomKey{7}, 0);
    const auto from = [&](float low, float high) { return low + (high - low) * random.uniform(); };
    for (int i = 0; i < 200000; ++i) {
        // Any base, and one near 1; exponents for results over the whole range.
        const float far = std::exp2(from(-126.0F, 126.0F));
        const float near = 1.0F + from(-0.5F, 1.0F) * std::exp2(from(-23.0F, 0.0F));
        for (const float x : {far, near}) {
            const float y = from(-130.0F, 130.0F) / std::log2(x);
            if (std::isfinite(y)) expect_power(2.0, x, y);
        }
        expect_power(2.0, -far, std::round(from(-8.0F, 8.0F)));
        const std::uint32_t any_x = random.bits();
        const std::uint32_t any_y = random.bits();
        expect_power(2.0, elementary::bits_to_float(any_x), elementary::bits_to_float(any_y));
    }
}

TEST(Elementary, PowHasTheSpecialValuesOfC) {
    const std::vector<float> values{0.0F,           0x1p-149F,     0x1p-126F,
                                    0.3F,           0.5F,          1.0F,
                                    1.5F,           2.0F,          2.5F,
                                    3.0F,           7.0F,          1e10F,
                                    8388607.5F,     8388607.0F,    8388608.0F,
                                    16777215.0F,    16777216.0F,   16777218.0F,
                                    0x1.fffffep-1F, 0x1.000002p0F, 0x1.fffffep127F,
                                    infinity,       not_a_number};
    for (const float x : values)
        for (const float y : values)
            for (const float a : {x, -x})
                for (const float b : {y, -y}) expect_power(2.0, a, b);
    EXPECT_EQ(elementary::pow(not_a_number, 0.0F), 1.0F);
    EXPECT_EQ(elementary::pow(1.0F, not_a_number), 1.0F);
    EXPECT_EQ(elementary::pow(-1.0F, -infinity), 1.0F);
    EXPECT_EQ(elementary::pow(-2.0F, 3.0F), -8.0F);
    EXPECT_EQ(elementary::pow(-0.0F, -3.0F), -infinity);
    EXPECT_EQ(elementary::pow(-0.0F, -2.0F), infinity);
    EXPECT_EQ(elementary::pow(-infinity, 3.0F), -infinity);
    EXPECT_TRUE(std::isnan(elementary::pow(-2.0F, 0.5F)));
}

TEST(Elementary, SpecialValuesFollowIeee) {
    EXPECT_EQ(elementary::exp(-infinity), 0.0F);
    EXPECT_EQ(elementary::exp(89.0F), infinity);
    EXPECT_EQ(elementary::log(0.0F), -infinity);
    EXPECT_TRUE(std::isnan(elementary::log(-1.0F)));
    EXPECT_TRUE(std::isnan(elementary::sqrt(-1.0F)));
    EXPECT_EQ(elementary::log1p(-1.0F), -infinity);
    EXPECT_TRUE(std::isnan(elementary::log1p(-1.5F)));
    EXPECT_EQ(elementary::expm1(-infinity), -1.0F);
    EXPECT_EQ(elementary::expm1(89.0F), infinity);
    EXPECT_EQ(elementary::erf(-infinity), -1.0F);
    EXPECT_EQ(elementary::reciprocal(-0.0F), -infinity);
    EXPECT_EQ(elementary::reciprocal(infinity), 0.0F);
    EXPECT_EQ(elementary::divide(1.0F, 0.0F), infinity);
    EXPECT_TRUE(std::isnan(elementary::divide(0.0F, 0.0F)));
    EXPECT_TRUE(std::isnan(elementary::divide(infinity, infinity)));
    EXPECT_TRUE(std::isnan(elementary::sin(infinity)));
    EXPECT_TRUE(std::isnan(elementary::tanh(not_a_number)));
}

TEST(Elementary, SinAndCosStayInRangeForHugeArguments) {
    for_many_floats([](float x) {
        if (std::isfinite(x)) {
            ASSERT_LE(std::fabs(elementary::sin(x)), 1.0F) << x;
            ASSERT_LE(std::fabs(elementary::cos(x)), 1.0F) << x;
        }
    });
}

template <class Function>
[[gnu::noinline]] float called(Function function, float x) {
    return function(x);
}

template <class Function>
[[gnu::noinline, gnu::optimize("O3")]] void looped(Function function, const std::vector<float>& in,
                                                   std::vector<float>& out) {
    const float* __restrict__ x = in.data();
    float* __restrict__ y = out.data();
    for (std::size_t i = 0; i < in.size(); ++i) {
        y[i] = function(x[i]);
    }
}

template <class Function>
void expect_one_result(Function function) {
    std::vector<float> in;
    for_many_floats([&](float x) { in.push_back(x); });
    std::vector<float> out(in.size());
    looped(function, in, out);
    for (std::size_t i = 0; i < in.size(); ++i) {
        ASSERT_EQ(elementary::float_to_bits(called(function, in[i])),
                  elementary::float_to_bits(out[i]))
            << in[i];
    }
}

TEST(Elementary, VectorAndScalarCodeGiveTheSameBits) {
#define CAMBRIAN_REAL_FUNCTION(name, ...) \
    expect_one_result([](float x) { return elementary::name(x); });
#include "cambrian/engine/graph/op_table.inl"
    expect_one_result([](float x) { return elementary::divide(x, 1.7F); });
    expect_one_result([](float x) { return elementary::pow(x, 1.7F); });
    expect_one_result([](float x) { return elementary::pow(-1.7F, x); });
}

// Rounding a double to float first would round twice: here to the next float16, which is even.
TEST(NumberFormats, RoundToOddKeepsTheSideOfADouble) {
    using number_formats::round_to_odd;
    constexpr double tie = 1.0 + 0x1p-11;  // Half way from one float16 to the next.
    const auto f16 = [](double x) { return number_formats::encode_f16(round_to_odd(x)); };
    EXPECT_EQ(f16(tie), 0x3C00U);
    EXPECT_EQ(f16(tie + 0x1p-40), 0x3C01U);
    EXPECT_EQ(f16(tie + 0x1p-10 - 0x1p-40), 0x3C01U);
    EXPECT_EQ(f16(-tie - 0x1p-40), 0xBC01U);
    EXPECT_EQ(round_to_odd(1.5), 1.5F);
    EXPECT_EQ(round_to_odd(-0.0), 0.0F);
    EXPECT_EQ(round_to_odd(1e-60), 0x1p-149F);
    EXPECT_EQ(round_to_odd(-1e60), -0x1.fffffep127F);
    EXPECT_EQ(round_to_odd(HUGE_VAL), infinity);
    EXPECT_TRUE(std::isnan(round_to_odd(std::numeric_limits<double>::quiet_NaN())));
}

}  // namespace
}  // namespace cambrian
