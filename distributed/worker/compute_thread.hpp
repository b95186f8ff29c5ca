#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

#include "cambrian/distributed/worker/shard_evaluator.hpp"

namespace cambrian::distributed {

/// Works on jobs in order while its owner talks to other ranks. Used by one owner.
class ComputeThread {
  public:
    explicit ComputeThread(ShardEvaluator& shard_evaluator);
    /// Waits for the running job; those not begun are dropped.
    ~ComputeThread();
    ComputeThread(const ComputeThread&) = delete;
    ComputeThread& operator=(const ComputeThread&) = delete;

    void submit(Job job);
    /// A finished job, waiting up to `patience` for one.
    [[nodiscard]] std::optional<JobResult> take(std::chrono::microseconds patience);
    /// Jobs submitted and not yet taken.
    [[nodiscard]] std::size_t in_flight() const { return in_flight_; }

  private:
    void run();

    ShardEvaluator& shard_evaluator_;
    std::size_t in_flight_ = 0;  ///< Of the owner, no lock needed.
    std::mutex mutex_;
    std::condition_variable submitted_;
    std::condition_variable finished_;
    std::deque<Job> jobs_;
    std::deque<JobResult> results_;
    bool ending_ = false;
    std::thread thread_;
};

}  // namespace cambrian::distributed
