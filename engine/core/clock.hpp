#pragma once

#include <chrono>
#include <functional>

namespace cambrian {

/// The time of the thread that asks: the system's steady clock or, in a simulation, virtual time.
/// Whoever waits for others, or measures what its own work takes, asks here. A clock as those of
/// the standard.
struct Clock {
    using duration = std::chrono::steady_clock::duration;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::steady_clock::time_point;
    static constexpr bool is_steady = true;

    [[nodiscard]] static time_point now();
    /// Lets time pass.
    static void sleep(duration time);
    /// What a processor has worked for the thread that asks, without what the system gave to others
    /// meanwhile. Never less than before.
    [[nodiscard]] static duration worked();
};

[[nodiscard]] inline double seconds_of(Clock::duration duration) {
    return std::chrono::duration<double>(duration).count();
}
[[nodiscard]] inline double seconds_since(Clock::time_point start) {
    return seconds_of(Clock::now() - start);
}
[[nodiscard]] inline Clock::duration duration_of(double seconds) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

/// Time that passes as a simulation says, for one thread.
class VirtualTime {
  public:
    virtual ~VirtualTime() = default;
    [[nodiscard]] virtual Clock::time_point now() const = 0;
    virtual void sleep(Clock::duration time) = 0;
    /// Without what was run beside.
    [[nodiscard]] virtual Clock::duration worked() = 0;
    /// Runs a task now as if another thread did, which has time for it from `start` on; → when that
    /// one has finished.
    [[nodiscard]] virtual Clock::time_point beside(Clock::time_point start,
                                                   const std::function<void()>& task) = 0;

    /// That of the thread that asks; null where its time is real.
    [[nodiscard]] static VirtualTime* current();
    /// Gives this thread another one, or none; → the one before. For who has several take turns on
    /// one thread.
    static VirtualTime* exchange(VirtualTime* next);

    /// This thread goes by a virtual time while it lives.
    class Scope {
      public:
        explicit Scope(VirtualTime& time);
        ~Scope();
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;
    };
};

}  // namespace cambrian
