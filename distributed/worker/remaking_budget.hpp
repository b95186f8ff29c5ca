#pragma once

#include <cstddef>

#include "cambrian/distributed/worker/compute_thread.hpp"
#include "cambrian/distributed/worker/worker.hpp"

namespace cambrian::distributed {

/// How many parents a worker makes once more rather than ask for them, by what the last shards
/// took. It changes no result.
class RemakingBudget {
  public:
    explicit RemakingBudget(const WorkerLimits& limits)
        : share_(limits.remaking_share), per_birth_(share_ > 0.0 ? unlimited : 0.0) {}

    void note(const JobResult& result);
    /// For so many births.
    [[nodiscard]] std::size_t remakes(std::size_t births) const;

  private:
    static constexpr double unlimited = 1e9;

    double share_;  ///< Of the time that the evaluation of their children takes.
    double per_birth_;
};

}  // namespace cambrian::distributed
