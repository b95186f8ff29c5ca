#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "cambrian/distributed/communicator/communicator.hpp"
#include "cambrian/distributed/experiment.hpp"
#include "cambrian/distributed/run.hpp"
#include "cambrian/engine/backend/backend.hpp"

namespace cambrian::distributed {

/// A worker asks this often in a lease whether the coordinator lives, and waits as long for another
/// worker.
inline constexpr double heartbeats_in_a_lease = 4.0;

/// Seconds for which a gap between two looks at others counts at most: a process that was suspended
/// has heard nothing either.
[[nodiscard]] inline double longest_gap(double lease) {
    return std::clamp(lease / heartbeats_in_a_lease, 0.1, 1.0);
}

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
