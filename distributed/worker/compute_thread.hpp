#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <vector>

#include "cambrian/distributed/worker/shard_evaluator.hpp"
#include "cambrian/engine/core/clock.hpp"
#include "cambrian/engine/core/task_thread.hpp"

namespace cambrian::distributed {

/// Works on jobs in order while its owner talks to other ranks. Used by one owner.
class ComputeThread {
  public:
    /// How often its owner looks for what is finished.
    static constexpr std::chrono::microseconds look_every{200};

    explicit ComputeThread(ShardEvaluator& shard_evaluator) : shard_evaluator_(shard_evaluator) {}
    /// Waits for the running job; those not begun are dropped.
    ~ComputeThread() { ending_ = true; }
    ComputeThread(const ComputeThread&) = delete;
    ComputeThread& operator=(const ComputeThread&) = delete;

    void submit(Job job);
    /// A finished job.
    [[nodiscard]] std::optional<JobResult> take();
    /// What the thread makes of genomes, and what its owner does with them then.
    using Change = std::function<void(std::vector<SharedIndividual>&)>;
    using Arrival = std::function<void(std::vector<SharedIndividual>)>;
    /// Changes genomes after the jobs before, and hands them to `arrival` in a later call of
    /// hand_over().
    void change(std::vector<SharedIndividual> genomes, Change change, Arrival arrival);
    /// The same to bring weights that lie on the backend to the host; at once where all are there
    /// already.
    void bring_to_host(std::vector<SharedIndividual> genomes, Arrival arrival);
    /// Makes parents of a round once more after the jobs before: those after find them, and the
    /// owner does in a later call of hand_over(). `follower` lives until then.
    void remake(Follower& follower, const SharedRound& round, Remakes&& remakes);
    /// Throws what the backend threw.
    void hand_over();
    /// Whether genomes are still to be handed over.
    [[nodiscard]] bool changes() const { return changing_ > 0; }
    /// Waits for all that was submitted.
    void drain() { thread_.drain(); }

    /// Jobs submitted and not yet taken.
    [[nodiscard]] std::size_t in_flight() const { return in_flight_; }

  private:
    struct Finished {
        JobResult result;
        Clock::time_point time;  ///< In virtual time it may be to come.
    };
    struct Arrived {
        std::vector<SharedIndividual> genomes;
        Change change;
        Arrival arrival;
        std::exception_ptr failure;
        Clock::time_point time;  ///< In virtual time it may be to come.
    };
    void work(Job& job);
    void apply(Arrived& wanted);

    ShardEvaluator& shard_evaluator_;
    std::size_t in_flight_ = 0;                    ///< Of the owner, no lock needed,
    std::size_t changing_ = 0;                     ///< as is this.
    double remaking_ = 0.0;                        ///< Seconds since the last job. Of the thread,
    std::size_t remade_ = 0;                       ///< as is this,
    Clock::time_point idle_since_ = Clock::now();  ///< and this.
    std::mutex mutex_;
    std::deque<Finished> finished_;
    std::deque<Arrived> arrived_;
    std::atomic<bool> ending_ = false;
    /// Holds little: its owner has a few jobs in flight.
    TaskThread thread_{std::numeric_limits<std::size_t>::max()};
};

}  // namespace cambrian::distributed
