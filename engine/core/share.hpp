#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace cambrian {

/// A share of so many, rounded down as its decimals read: .29 of 100 is 29, although the double
/// next to .29 is a little less.
[[nodiscard]] inline std::int64_t whole_share(double share, std::int64_t count) {
    constexpr double two_roundings = 1.0 + 2.0 * std::numeric_limits<double>::epsilon();
    return static_cast<std::int64_t>(
        std::floor(share * static_cast<double>(count) * two_roundings));
}

}  // namespace cambrian
