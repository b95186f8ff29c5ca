#include "cambrian/distributed/worker/compute_thread.hpp"

#include <utility>

namespace cambrian::distributed {

void ComputeThread::submit(Job job) {
    ++in_flight_;
    thread_.submit([this, job = std::move(job)]() mutable { work(job); });
}

std::optional<JobResult> ComputeThread::take() {
    const std::lock_guard lock(mutex_);
    if (finished_.empty() || finished_.front().time > Clock::now()) {
        return std::nullopt;
    }
    JobResult result = std::move(finished_.front().result);
    finished_.pop_front();
    --in_flight_;
    return result;
}

void ComputeThread::work(Job& job) {
    if (ending_) {
        return;
    }
    const double waited = std::chrono::duration<double>(Clock::now() - idle_since_).count();
    JobResult result = shard_evaluator_.work(job);
    result.cost.wait = waited;
    idle_since_ = Clock::now();
    // Before all that the job held is let go: the owner does not wait for that.
    const std::lock_guard lock(mutex_);
    finished_.push_back({std::move(result), idle_since_});
}

}  // namespace cambrian::distributed
