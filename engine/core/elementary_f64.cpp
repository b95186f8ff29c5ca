#include "cambrian/engine/core/elementary_f64.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>

// Arguments are reduced to a small remainder that is held in two doubles, and of that a series is
// added up. No expression below may be contracted: compile with -ffp-contract=off.
namespace cambrian::elementary_f64 {
namespace {

/// A number as a sum: `low` is what `high` lost by rounding.
struct Twofold {
    double high = 0.0;
    double low = 0.0;
};

/// Knuth's two-sum (TAOCP 2, 4.2.2).
Twofold sum_of(double a, double b) {
    const double sum = a + b;
    const double b_in_sum = sum - a;
    return {sum, (a - (sum - b_in_sum)) + (b - b_in_sum)};
}

/// The first 26 bits of a number.
double first_half(double x) {
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & ~std::uint64_t{0x7FFFFFF});
}

/// Dekker's product ("A floating-point technique for extending the available precision", 1971).
Twofold product_of(double a, double b) {
    const double product = a * b;
    const double a_high = first_half(a);
    const double b_high = first_half(b);
    const double a_low = a - a_high;
    const double b_low = b - b_high;
    return {product,
            ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low};
}

/// first + z (second + z (..)).
template <std::size_t count>
double series_of(double z, const std::array<double, count>& coefficients) {
    double sum = 0.0;
    for (std::size_t i = count; i-- > 0;) sum = coefficients[i] + z * sum;
    return sum;
}

/// 1 / first!, 1 / (first + step)!, ..; factorials up to 22! are doubles.
template <std::size_t count>
constexpr std::array<double, count> inverse_factorials(std::size_t first, std::size_t step) {
    std::array<double, count> result{};
    for (std::size_t i = 0; i < count; ++i) {
        double factorial = 1.0;
        for (std::size_t n = 2; n <= first + i * step; ++n) factorial *= static_cast<double>(n);
        result[i] = 1.0 / factorial;
    }
    return result;
}

// ln 2 in two parts: the first has 33 bits, so that its product with an exponent is exact.
constexpr double ln_2_high = 0x1.62E42FEEp-1;
constexpr double ln_2_low = 0x1.A39EF35793C76p-33;

/// ln x = k ln 2 + 2 artanh s for x = 2^k m and s = (m - 1) / (m + 1), of a positive x.
Twofold log_of(double x) {
    int exponent = 0;
    double fraction = std::frexp(x, &exponent);
    if (fraction < 0.5 * std::numbers::sqrt2) {
        fraction *= 2.0;
        --exponent;
    }
    const double above = fraction - 1.0;
    const Twofold divisor = sum_of(fraction, 1.0);
    const double s = above / divisor.high;
    const Twofold product = product_of(s, divisor.high);
    const double rest = ((above - product.high) - product.low) - s * divisor.low;
    static constexpr std::array<double, 11> inverse_odds{
        1.0 / 3.0,  1.0 / 5.0,  1.0 / 7.0,  1.0 / 9.0,  1.0 / 11.0, 1.0 / 13.0,
        1.0 / 15.0, 1.0 / 17.0, 1.0 / 19.0, 1.0 / 21.0, 1.0 / 23.0};
    const double z = s * s;
    const double tail = rest / divisor.high + s * (z * series_of(z, inverse_odds));
    const Twofold sum = sum_of(ln_2_high * exponent, 2.0 * s);
    return sum_of(sum.high, sum.low + (2.0 * tail + ln_2_low * exponent));
}

/// e^x = 2^k e^r for the remainder r of x after k ln 2.
double exp_of(Twofold x) {
    if (!(x.high < 710.0)) return x.high + std::numeric_limits<double>::infinity();
    if (x.high < -746.0) return 0.0;
    const double shift = std::floor(x.high * std::numbers::log2e + 0.5);
    const Twofold r = sum_of(x.high - shift * ln_2_high, x.low - shift * ln_2_low);
    static constexpr auto coefficients = inverse_factorials<13>(2, 1);
    const double rest = r.low + (r.high * r.high) * series_of(r.high, coefficients);
    const Twofold sum = sum_of(1.0, r.high);
    return std::ldexp(sum.high + (sum.low + rest), static_cast<int>(shift));
}

/// The sine of x plus so many quarters of a turn, by the remainder r of x after k pi / 2.
double sine_of(double x, int quarters) {
    // What a division leaves is exact.
    if (!(std::fabs(x) <= 0x1p30)) x = std::fmod(x, 2.0 * std::numbers::pi);
    if (std::isnan(x)) return x;
    const double count = std::floor(x * (2.0 * std::numbers::inv_pi) + 0.5);
    // pi / 2 in three parts.
    const Twofold first = product_of(count, 0x1.921FB54442D18p0);
    const Twofold second = product_of(count, 0x1.1A62633145C07p-54);
    const Twofold once = sum_of(x - first.high, -first.low);
    const Twofold twice = sum_of(once.high, -second.high);
    const double rest = second.low + count * -0x1.F1976B7ED8FBCp-110;
    const Twofold r = sum_of(twice.high, once.low + (twice.low - rest));
    const double z = r.high * r.high;
    const Twofold cosine = sum_of(1.0, -0.5 * z);
    const auto quadrant = static_cast<std::uint64_t>(static_cast<std::int64_t>(count) + quarters);
    double result = 0.0;
    if (quadrant % 2 == 0) {
        static constexpr auto coefficients = inverse_factorials<8>(3, 2);
        const double series = series_of(-z, coefficients);
        result = r.high + (r.low * cosine.high - (r.high * z) * series);
    } else {
        static constexpr auto coefficients = inverse_factorials<7>(4, 2);
        const double series = series_of(-z, coefficients);
        result = cosine.high + (cosine.low + ((z * z) * series - r.high * r.low));
    }
    return quadrant % 4 < 2 ? result : -result;
}

}  // namespace

double log(double x) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (x == 0.0) return -infinity;
    return x < infinity ? log_of(x).high : x;
}

double pow(double x, double y) {
    const Twofold logarithm = log_of(x);
    const Twofold product = product_of(y, logarithm.high);
    return exp_of({product.high, product.low + y * logarithm.low});
}

double sin(double x) {
    return sine_of(x, 0);
}

double cos(double x) {
    return sine_of(x, 1);
}

}  // namespace cambrian::elementary_f64
