#pragma once

#include <cfenv>
#include <cstdint>

namespace cambrian::cpu {

/// How this thread rounds, and whether it flushes subnormal numbers to zero, in the processor's
/// words. Bits that this build does not know stay as they are.
struct FloatRules {
    std::uint64_t bits = 0;

#if defined(__SSE__)
    static constexpr std::uint64_t flushing = 1U << 15U | 1U << 6U;  ///< Results and operands.
    static constexpr std::uint64_t rounding = 3U << 13U;
    static FloatRules now() {
        return {__builtin_ia32_stmxcsr()};
    }
    void set() const {
        __builtin_ia32_ldmxcsr(static_cast<unsigned>(bits));
    }
#elif defined(__aarch64__)
    static constexpr std::uint64_t flushing = 1U << 24U;
    static constexpr std::uint64_t rounding = 3U << 22U;
    static FloatRules now() {
        FloatRules rules;
        asm volatile("mrs %0, fpcr" : "=r"(rules.bits));
        return rules;
    }
    void set() const {
        asm volatile("msr fpcr, %0" : : "r"(bits));
    }
#else
    // A processor that is not known to flush. To nearest even is 0 in every C library of such.
    static_assert(FE_TONEAREST == 0);
    static constexpr std::uint64_t flushing = 0;
    static constexpr std::uint64_t rounding = ~std::uint64_t{0};
    static FloatRules now() {
        return {static_cast<std::uint64_t>(std::fegetround())};
    }
    void set() const {
        std::fesetround(static_cast<int>(bits));
    }
#endif
};

/// While it lives, this thread rounds to nearest even and keeps subnormal numbers, whatever the
/// program around has set: what every device can do alike (some cannot flush them to zero).
class FloatGuard {
  public:
    FloatGuard() : saved_(FloatRules::now()) {
        FloatRules{saved_.bits & ~(FloatRules::flushing | FloatRules::rounding)}.set();
    }
    ~FloatGuard() { saved_.set(); }
    FloatGuard(const FloatGuard&) = delete;
    FloatGuard& operator=(const FloatGuard&) = delete;

  private:
    FloatRules saved_;
};

}  // namespace cambrian::cpu
