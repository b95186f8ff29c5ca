#include "cambrian/engine/core/elementary_f64.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "cambrian/engine/core/hash.hpp"
#include "cambrian/engine/core/random.hpp"

namespace cambrian {
namespace {

constexpr double f64_infinity = std::numeric_limits<double>::infinity();

/// Distance from the exact value in units of the last place of a double of that size.
double f64_ulps(double actual, long double exact) {
    const int exponent = std::max(std::ilogb(static_cast<double>(exact)), -1022);
    return static_cast<double>(std::fabs(static_cast<long double>(actual) - exact) /
                               std::ldexp(1.0L, exponent - 52));
}

/// Doubles with all their bits, in a fixed order.
class F64Draws {
  public:
    double between(double low, double high) {
        const auto word = static_cast<double>(random_.bits());
        const double unit = (word + static_cast<double>(random_.bits()) * 0x1p-32) * 0x1p-32;
        return low + (high - low) * unit;
    }
    double power_of_two(double low, double high) {
        const double fraction = between(1.0, 2.0);
        return std::ldexp(fraction, static_cast<int>(between(low, high)));
    }

  private:
    RandomStream random_{random_key(1, "test"), 0};
};

constexpr int f64_samples = 20'000;

TEST(ElementaryF64, LogIsWithinAUnitOfTheLastPlace) {
    F64Draws draws;
    for (int i = 0; i < f64_samples; ++i)
        for (const double x : {draws.power_of_two(-1074.0, 1024.0), draws.between(0.5, 2.0)})
            EXPECT_LE(f64_ulps(elementary_f64::log(x), std::log(static_cast<long double>(x))), 1.0)
                << x;
    EXPECT_EQ(elementary_f64::log(1.0), 0.0);
    EXPECT_EQ(elementary_f64::log(0.0), -f64_infinity);
    EXPECT_EQ(elementary_f64::log(f64_infinity), f64_infinity);
}

TEST(ElementaryF64, PowIsWithinAUnitOfTheLastPlace) {
    F64Draws draws;
    for (int i = 0; i < f64_samples; ++i) {
        const double x = draws.power_of_two(-30.0, 30.0);
        for (const double y : {draws.between(-1.0, 1.0), draws.between(-30.0, 30.0)})
            EXPECT_LE(f64_ulps(elementary_f64::pow(x, y),
                               std::pow(static_cast<long double>(x), static_cast<long double>(y))),
                      1.0)
                << x << " to the " << y;
    }
    EXPECT_EQ(elementary_f64::pow(10000.0, -0.0), 1.0);
    EXPECT_EQ(elementary_f64::pow(2.0, 10.0), 1024.0);
    EXPECT_EQ(elementary_f64::pow(1e300, 2.0), f64_infinity);
    EXPECT_EQ(elementary_f64::pow(1e-300, 2.0), 0.0);
}

void expect_sine_and_cosine(double x) {
    const auto exact = static_cast<long double>(x);
    EXPECT_LE(f64_ulps(elementary_f64::sin(x), std::sin(exact)), 1.0) << x;
    EXPECT_LE(f64_ulps(elementary_f64::cos(x), std::cos(exact)), 1.0) << x;
}

TEST(ElementaryF64, SinAndCosAreWithinAUnitOfTheLastPlace) {
    F64Draws draws;
    for (int i = 0; i < f64_samples; ++i) {
        expect_sine_and_cosine(draws.between(-10.0, 10.0));
        expect_sine_and_cosine(draws.between(-0x1p30, 0x1p30));
        expect_sine_and_cosine(draws.power_of_two(-60.0, 0.0));
        // Next to their zeros, where reduction has to be exact.
        expect_sine_and_cosine(i * (0.5 * std::numbers::pi));
    }
}

TEST(ElementaryF64, SinAndCosOfHugeAnglesStayInRange) {
    for (const double x : {0x1p31, 1e22, -1e300}) {
        EXPECT_LE(std::fabs(elementary_f64::sin(x)), 1.0) << x;
        EXPECT_LE(std::fabs(elementary_f64::cos(x)), 1.0) << x;
    }
    EXPECT_TRUE(std::isnan(elementary_f64::sin(f64_infinity)));
}

// What another processor, compiler or library must give, too.
TEST(ElementaryF64, BitsAreTheSameOnEveryMachine) {
    F64Draws draws;
    Hasher bits;
    for (int i = 0; i < f64_samples; ++i) {
        bits.add(elementary_f64::log(draws.power_of_two(-1074.0, 1024.0)));
        const double base = draws.between(1.0, 1e7);
        bits.add(elementary_f64::pow(base, draws.between(-1.0, 1.0)));
        const double angle = draws.between(-1e6, 1e6);
        bits.add(elementary_f64::sin(angle)).add(elementary_f64::cos(angle));
    }
    EXPECT_EQ(bits.hash64(), 14264458620667650779U);
}

}  // namespace
}  // namespace cambrian
