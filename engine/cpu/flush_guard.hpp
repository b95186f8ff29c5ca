#pragma once

#include <immintrin.h>

namespace cambrian::cpu {

/// While it lives, subnormal operands count as zero and subnormal results are zero on this thread.
class FlushGuard {
  public:
    FlushGuard() : saved_(_mm_getcsr()) {
        constexpr unsigned flush_results = 1U << 15U;
        constexpr unsigned zero_operands = 1U << 6U;
        _mm_setcsr(saved_ | flush_results | zero_operands);
    }
    ~FlushGuard() { _mm_setcsr(saved_); }
    FlushGuard(const FlushGuard&) = delete;
    FlushGuard& operator=(const FlushGuard&) = delete;

  private:
    unsigned saved_;
};

}  // namespace cambrian::cpu
