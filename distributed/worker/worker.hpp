#pragma once

#include <atomic>
#include <cstdint>

#include "cambrian/distributed/communicator/communicator.hpp"
#include "cambrian/distributed/experiment.hpp"
#include "cambrian/distributed/run.hpp"
#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/core/clock.hpp"

namespace cambrian::distributed {

/// A worker asks this often in a lease whether the coordinator lives, and waits as long for another
/// worker.
inline constexpr double heartbeats_in_a_lease = 4.0;

/// The time from look to look at others. Of a long gap only the beginning counts: a process that
/// was suspended has heard nothing either.
class LookTimer {
  public:
    struct Passed {
        double seconds = 0.0;  ///< Those that count,
        double unheard = 0.0;  ///< and those that do not.
    };
    /// Since the last look; at first since this timer was made.
    [[nodiscard]] Passed look(double lease);

  private:
    Clock::time_point last_ = Clock::now();
};

struct WorkerLimits {
    /// Parents are made once more as long as that takes less than this share of the evaluation of
    /// their children, or five times as much where weights lie on a backend; else they travel.
    double remaking_share = 0.05;
    double first_contact_seconds = 120.0;  ///< Patience before the coordinator's first order or
                                           ///< heartbeat that names its epoch.
    double silence_seconds = 1.0;          ///< Least patience after it, which is one lease.
};

/// run_worker with limits of its own, for a coordinator that may be another rank than 0.
std::uint64_t run_worker(Communicator& communicator, Backend& backend, const Experiment& experiment,
                         const std::atomic<int>& interrupt, const WorkerLimits& limits,
                         const Reign& reign = {});

}  // namespace cambrian::distributed
