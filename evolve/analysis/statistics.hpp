#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace cambrian::evolve {

struct Interval {
    double low = 0.0;
    double high = 0.0;
};

/// 95 % interval of a share of which so many of `runs` were seen (Wilson 1927): it stays within 0
/// and 1, and says something where all or none were. Contract: successes <= runs, runs > 0.
[[nodiscard]] Interval wilson_interval(std::uint64_t successes, std::uint64_t runs);

/// What many runs measured of one quantity.
struct Distribution {
    std::uint64_t count = 0;
    double mean = 0.0;
    /// 95 %, from Student's t; nothing for a single value.
    std::optional<Interval> mean_interval;
    std::optional<double> deviation;  ///< Of the sample (n - 1); nothing for a single value.
    double median = 0.0;
    double least = 0.0;
    double largest = 0.0;
};
/// What so large a part of values, which rise, is not above; between two of them linearly. 0.5: the
/// median. Contract: there is a value.
[[nodiscard]] double quantile_of(std::span<const double> sorted, double part);
/// Nothing for no values.
[[nodiscard]] std::optional<Distribution> distribution_of(std::span<const double> values);

}  // namespace cambrian::evolve
