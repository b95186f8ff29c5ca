#pragma once

#include <atomic>
#include <memory>

namespace cambrian::launch {

/// While it lives, SIGINT, SIGTERM and SIGUSR1 set a flag instead of ending the process, so that a
/// run can save itself; a second SIGINT ends it. The handlers before it come back at the end. One
/// at a time.
class SignalGuard {
  public:
    SignalGuard();
    ~SignalGuard();
    SignalGuard(const SignalGuard&) = delete;
    SignalGuard& operator=(const SignalGuard&) = delete;

    /// The number of the signal that came, or 0.
    [[nodiscard]] const std::atomic<int>& flag() const;

  private:
    struct Saved;
    std::unique_ptr<Saved> saved_;
};

}  // namespace cambrian::launch
