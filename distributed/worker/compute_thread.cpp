#include "cambrian/distributed/worker/compute_thread.hpp"

#include <utility>

#include "cambrian/engine/core/thread_pool.hpp"

namespace cambrian::distributed {

ComputeThread::ComputeThread(ShardEvaluator& shard_evaluator)
    : shard_evaluator_(shard_evaluator), thread_(start_thread([this] { run(); })) {}

ComputeThread::~ComputeThread() {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
        jobs_.clear();
    }
    submitted_.notify_one();
    thread_.join();
}

void ComputeThread::submit(Job job) {
    {
        const std::lock_guard lock(mutex_);
        jobs_.push_back(std::move(job));
    }
    ++in_flight_;
    submitted_.notify_one();
}

std::optional<JobResult> ComputeThread::take(std::chrono::microseconds patience) {
    std::unique_lock lock(mutex_);
    const auto ready = [this] { return !results_.empty(); };
    if (!ready() && patience.count() > 0) {
        finished_.wait_for(lock, patience, ready);
    }
    if (!ready()) {
        return std::nullopt;
    }
    JobResult result = std::move(results_.front());
    results_.pop_front();
    --in_flight_;
    return result;
}

void ComputeThread::run() {
    using Clock = std::chrono::steady_clock;
    std::unique_lock lock(mutex_);
    for (;;) {
        const Clock::time_point idle = Clock::now();
        submitted_.wait(lock, [this] { return ending_ || !jobs_.empty(); });
        if (ending_) {
            return;
        }
        const double waited = std::chrono::duration<double>(Clock::now() - idle).count();
        std::optional<Job> job = std::move(jobs_.front());
        jobs_.pop_front();
        lock.unlock();
        JobResult result = shard_evaluator_.work(*job);
        result.cost.wait = waited;
        lock.lock();
        results_.push_back(std::move(result));
        finished_.notify_one();
        // The owner does not wait until all that a job held is let go.
        lock.unlock();
        job.reset();
        lock.lock();
    }
}

}  // namespace cambrian::distributed
