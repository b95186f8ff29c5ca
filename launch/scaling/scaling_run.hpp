#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>

#include "cambrian/distributed/communicator/simulated_network.hpp"
#include "cambrian/distributed/experiment.hpp"
#include "cambrian/launch/scaling/priced_task.hpp"

namespace cambrian::launch {

/// A run whose scaling is asked for.
struct ScalingRun {
    distributed::Experiment experiment;  ///< Its task is the one whose networks are looked at.
    Price price;
    double slow_share = 0.0;   ///< Of the ranks,
    double slow_factor = 2.0;  ///< which take so many times as long.

    /// Of a generation, or of a block of the steady state, which takes its place here.
    [[nodiscard]] std::uint64_t births() const;
    /// Generations before those that count: in the steady state those of the first window, too.
    [[nodiscard]] std::uint64_t warm_up() const;
    /// How many times as long as others a rank takes.
    [[nodiscard]] double slowness(int rank, int ranks) const;
};

/// What the generations of a run took, in the mean.
struct ScalingResult {
    int ranks = 1;
    double generation_seconds = 0.0;
    double efficiency = 0.0;         ///< Of evaluations alone, on all ranks all the time.
    double coordinator_share = 0.0;  ///< Of the time that rank 0 is busy, but for its evaluations.
    double decide_seconds = 0.0;     ///< Of the strategy, a part of that.
    double coordinator_seconds = 0.0;     ///< The rest of it, for one individual.
    double bytes_to_coordinator = 0.0;    ///< For one individual, from all workers.
    double bytes_from_coordinator = 0.0;  ///< For one individual, to all workers.
};

/// Runs it on simulated ranks, each with a processor for what it says and one for what it
/// evaluates.
[[nodiscard]] ScalingResult simulate(const ScalingRun& run, int ranks,
                                     const distributed::NetworkCosts& costs,
                                     const std::atomic<int>& interrupt);
/// One rank of a real run; only that of rank 0 is more than empty.
[[nodiscard]] ScalingResult run_for_real(const ScalingRun& run,
                                         distributed::Communicator& communicator,
                                         const std::atomic<int>& interrupt);

/// Measures latency, bandwidth and the work of a message between the first two ranks; for rank 0.
[[nodiscard]] distributed::NetworkCosts measure_network(distributed::Communicator& communicator);

}  // namespace cambrian::launch
