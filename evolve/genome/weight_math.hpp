#pragma once

#include <array>
#include <cstddef>
#include <span>

// Sums over weights in eight fixed lanes: the same bits whatever the compiler vectorises.
namespace cambrian::evolve {

inline constexpr std::size_t lanes = 8;

/// Adds the lanes pairwise in a fixed order.
[[nodiscard]] inline double sum_lanes(const std::array<double, lanes>& lane) {
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) +
           ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

/// Σ a[i] · b[i] in f64; the spans are of equal length.
[[nodiscard]] inline double dot(std::span<const float> a, std::span<const float> b) {
    std::array<double, lanes> lane{};
    std::size_t i = 0;
    for (; i + lanes <= a.size(); i += lanes) {
        for (std::size_t k = 0; k < lanes; ++k) {
            lane[k] += static_cast<double>(a[i + k]) * static_cast<double>(b[i + k]);
        }
    }
    for (std::size_t k = 0; i < a.size(); ++i, ++k) {
        lane[k] += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    }
    return sum_lanes(lane);
}

}  // namespace cambrian::evolve
