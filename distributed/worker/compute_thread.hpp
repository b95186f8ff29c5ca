#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <limits>
#include <mutex>
#include <optional>

#include "cambrian/distributed/worker/shard_evaluator.hpp"
#include "cambrian/engine/core/clock.hpp"
#include "cambrian/engine/core/task_thread.hpp"

namespace cambrian::distributed {

/// Works on jobs in order while its owner talks to other ranks. Used by one owner.
class ComputeThread {
  public:
    explicit ComputeThread(ShardEvaluator& shard_evaluator) : shard_evaluator_(shard_evaluator) {}
    /// Waits for the running job; those not begun are dropped.
    ~ComputeThread() { ending_ = true; }
    ComputeThread(const ComputeThread&) = delete;
    ComputeThread& operator=(const ComputeThread&) = delete;

    void submit(Job job);
    /// A finished job.
    [[nodiscard]] std::optional<JobResult> take();
    /// Jobs submitted and not yet taken.
    [[nodiscard]] std::size_t in_flight() const { return in_flight_; }

  private:
    struct Finished {
        JobResult result;
        Clock::time_point time;  ///< In virtual time it may be to come.
    };
    void work(Job& job);

    ShardEvaluator& shard_evaluator_;
    std::size_t in_flight_ = 0;                    ///< Of the owner, no lock needed.
    Clock::time_point idle_since_ = Clock::now();  ///< Of the thread.
    std::mutex mutex_;
    std::deque<Finished> finished_;
    std::atomic<bool> ending_ = false;
    /// Holds little: its owner has a few jobs in flight.
    TaskThread thread_{std::numeric_limits<std::size_t>::max()};
};

}  // namespace cambrian::distributed
