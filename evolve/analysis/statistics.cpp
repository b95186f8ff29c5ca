#include "cambrian/evolve/analysis/statistics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian::evolve {
namespace {

/// 97.5 % of a normal distribution lie below it.
constexpr double normal_quantile = 1.959963984540054;

/// The same of Student's t: exact numbers for few degrees of freedom, else the expansion around the
/// normal quantile (Abramowitz and Stegun 26.7.5), which is right to 5 digits from there on.
double student_quantile(std::uint64_t freedom) {
    constexpr std::array<double, 10> few{12.706205, 4.302653, 3.182446, 2.776445, 2.570582,
                                         2.446912,  2.364624, 2.306004, 2.262157, 2.228139};
    if (freedom <= few.size()) return few[freedom - 1];
    const double z = normal_quantile;
    const double v = static_cast<double>(freedom);
    const double z3 = z * z * z;
    const double z5 = z3 * z * z;
    const double z7 = z5 * z * z;
    const double z9 = z7 * z * z;
    return z + (z3 + z) / (4.0 * v) + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * v * v) +
           (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / (384.0 * v * v * v) +
           (79.0 * z9 + 776.0 * z7 + 1482.0 * z5 - 1920.0 * z3 - 945.0 * z) /
               (92160.0 * v * v * v * v);
}

}  // namespace

double quantile_of(std::span<const double> sorted, double part) {
    CAMBRIAN_EXPECT(!sorted.empty());
    const double place = part * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const double share = place - static_cast<double>(below);
    if (share == 0.0) return sorted[below];
    return (1.0 - share) * sorted[below] + share * sorted[below + 1];
}

Interval wilson_interval(std::uint64_t successes, std::uint64_t runs) {
    CAMBRIAN_EXPECT(runs > 0 && successes <= runs);
    const double n = static_cast<double>(runs);
    const double share = static_cast<double>(successes) / n;
    const double z2 = normal_quantile * normal_quantile;
    const double centre = (share + z2 / (2.0 * n)) / (1.0 + z2 / n);
    const double half = normal_quantile / (1.0 + z2 / n) *
                        std::sqrt(share * (1.0 - share) / n + z2 / (4.0 * n * n));
    // At the ends rounding would miss what is exact there.
    return {successes == 0 ? 0.0 : centre - half, successes == runs ? 1.0 : centre + half};
}

std::optional<Distribution> distribution_of(std::span<const double> values) {
    if (values.empty()) return std::nullopt;
    std::vector<double> sorted(values.begin(), values.end());
    std::ranges::sort(sorted);
    Distribution result;
    result.count = sorted.size();
    result.least = sorted.front();
    result.largest = sorted.back();
    result.median = quantile_of(sorted, 0.5);
    const double n = static_cast<double>(sorted.size());
    for (const double value : sorted) result.mean += value;
    result.mean /= n;
    if (sorted.size() == 1) return result;
    double squares = 0.0;
    for (const double value : sorted) squares += (value - result.mean) * (value - result.mean);
    result.deviation = std::sqrt(squares / (n - 1.0));
    const double half = student_quantile(result.count - 1) * *result.deviation / std::sqrt(n);
    result.mean_interval = Interval{result.mean - half, result.mean + half};
    return result;
}

}  // namespace cambrian::evolve
