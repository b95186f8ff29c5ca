#pragma once

#include "cambrian/engine/core/elementary.hpp"
#include "cambrian/engine/cpu/execution/kernel.hpp"

// Internal to engine/cpu: what selective_scan and its gradient share.
namespace cambrian::cpu {

/// Extents of a selective scan: `sequences` of `steps` with `channels` of `states` each.
struct SelectiveScanSizes {
    std::int64_t sequences = 0;
    std::int64_t steps = 0;
    std::int64_t channels = 0;
    std::int64_t states = 0;

    explicit SelectiveScanSizes(const KernelContext& context)
        : steps(context.operand(0).shape[-2]),
          channels(context.operand(2).shape[0]),
          states(context.operand(2).shape[1]) {
        sequences = context.operand(0).shape.elements() / (steps * channels);
    }
    /// Elements of a state.
    [[nodiscard]] std::int64_t state() const { return channels * states; }
};

// The functions below are those of the lowering, rounding for rounding.

/// log(1 + eˣ).
[[gnu::always_inline]] inline float softplus(float x) {
    const float positive = x > 0.0F ? x : 0.0F;
    return positive + elementary::log1p(elementary::exp(-(x < 0.0F ? -x : x)));
}

/// (eᶻ − 1) / z.
[[gnu::always_inline]] inline float growth(float z) {
    const float series = 1.0F + z * (0.5F + z * (static_cast<float>(1.0 / 6.0) +
                                                 z * (static_cast<float>(1.0 / 24.0) +
                                                      z * (static_cast<float>(1.0 / 120.0) +
                                                           z * static_cast<float>(1.0 / 720.0)))));
    const bool small = (z < 0.0F ? -z : z) < 0.25F;
    const float divisor = small ? 1.0F : z;
    const float quotient = elementary::divide(elementary::expm1(divisor), divisor);
    return small ? series : quotient;
}

/// z times the slope of growth: eᶻ − growth(z), where the difference would cancel as a series.
[[gnu::always_inline]] inline float growth_slope(float z, float exponential, float grown) {
    const float series =
        z * (0.5F + z * (static_cast<float>(1.0 / 3.0) +
                         z * (0.125F + z * (static_cast<float>(1.0 / 30.0) +
                                            z * (static_cast<float>(1.0 / 144.0) +
                                                 z * static_cast<float>(1.0 / 840.0))))));
    return (z < 0.0F ? -z : z) < 0.25F ? series : exponential - grown;
}

/// [rows, columns] as [columns, rows].
inline void transpose(const float* from, float* to, std::int64_t rows, std::int64_t columns) {
    for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t column = 0; column < columns; ++column)
            to[column * rows + row] = from[row * columns + column];
}

}  // namespace cambrian::cpu
