#pragma once

#include <immintrin.h>

namespace cambrian::cpu {

/// While it lives, this thread rounds to nearest even and keeps subnormal numbers, whatever the
/// program around has set: what every device can do alike (some cannot flush them to zero).
class FloatGuard {
  public:
    FloatGuard() : saved_(_mm_getcsr()) {
        constexpr unsigned flush_results = 1U << 15U;
        constexpr unsigned rounding = 3U << 13U;
        constexpr unsigned zero_operands = 1U << 6U;
        _mm_setcsr(saved_ & ~(flush_results | rounding | zero_operands));
    }
    ~FloatGuard() { _mm_setcsr(saved_); }
    FloatGuard(const FloatGuard&) = delete;
    FloatGuard& operator=(const FloatGuard&) = delete;

  private:
    unsigned saved_;
};

}  // namespace cambrian::cpu
