#pragma once

#include <atomic>
#include <memory>

namespace cambrian::launch {

/// While it lives, SIGINT, SIGTERM, SIGHUP and SIGUSR1 set a flag instead of ending the process, so
/// that a run can save itself. A second SIGINT, SIGTERM or SIGHUP, of any of the three, ends it at
/// once, wherever it is; within 0.3 s of the first it is taken for the same request told twice, as
/// launchers and terminals do. SIGUSR1 never ends it: mpirun passes it on as often as it is asked.
/// A SIGHUP that is ignored (nohup) stays so. The handlers before it come back at the end. One at a
/// time.
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
