#pragma once

#include <cstdint>

// What weights start with.
namespace cambrian {

/// How a parameter starts (layers.md); one row each of the table in initial_value.cpp.
enum class Initial : std::uint8_t {
    zeros,
    ones,
    weight,  ///< Uniform in ±√(6/fan_in) for relu, silu and gelu, ±√(3/fan_in) otherwise.
    forget_gate,  ///< Of four blocks the second is 1, the others 0.
    log_index,    ///< log 1, log 2, .. along the last axis.
    time_step,    ///< The inverse of softplus of a value log-uniform in [0.001, 0.1].
    normal,       ///< Normal with a deviation of `bound`.
    constant,     ///< `bound`.
    count_,
};

/// What decides the period of a pattern of starting values.
enum class InitialPeriod : std::uint8_t { none, quarter, last_axis };

/// What the elements of a parameter start with.
struct InitialRule {
    Initial initial = Initial::zeros;
    float bound = 0.0F;       ///< Of a weight: half width of the uniform it starts from.
    std::int64_t period = 1;  ///< Elements after which a pattern goes on or begins again.
    bool operator==(const InitialRule&) const = default;
};

/// Whether elements start with random values.
[[nodiscard]] bool starts_random(Initial initial);
[[nodiscard]] InitialPeriod period_of(Initial initial);
/// What element `index` of a parameter starts with, given a uniform in [0, 1) of its own.
[[nodiscard]] float initial_value(const InitialRule& rule, std::int64_t index, float uniform);

}  // namespace cambrian
