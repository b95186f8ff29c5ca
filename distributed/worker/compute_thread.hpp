#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "cambrian/distributed/worker/shard_evaluator.hpp"
#include "cambrian/engine/core/clock.hpp"
#include "cambrian/engine/core/task_thread.hpp"

namespace cambrian::distributed {

/// Works on jobs in order while its owner talks to other ranks. Used by one owner after another.
class ComputeThread {
  public:
    /// How often its owner looks for what is finished.
    static constexpr std::chrono::microseconds look_every{200};

    explicit ComputeThread(ShardEvaluator& shard_evaluator) : shard_evaluator_(shard_evaluator) {}
    /// Waits for the running job; those not begun are dropped.
    ~ComputeThread() { ++owner_; }
    ComputeThread(const ComputeThread&) = delete;
    ComputeThread& operator=(const ComputeThread&) = delete;

    /// For another owner: what the last one has submitted is wanted no more. The running job ends
    /// by itself, others do not begin, and nobody hears of any of them, nor of what they took.
    void change_owner();
    /// Whether a job of an owner before still runs: what is submitted waits for its end.
    [[nodiscard]] bool occupied() const { return occupied_; }

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
    void work(Job& job, std::uint64_t owner);
    void apply(Arrived& wanted, std::uint64_t owner);

    ShardEvaluator& shard_evaluator_;
    std::size_t in_flight_ = 0;                    ///< Of the owner, no lock needed,
    std::size_t changing_ = 0;                     ///< as is this,
    bool occupied_ = false;                        ///< and this.
    double remaking_ = 0.0;                        ///< Seconds since the last job. Of the thread,
    std::size_t remade_ = 0;                       ///< as is this,
    Clock::time_point idle_since_ = Clock::now();  ///< and this.
    std::mutex mutex_;
    std::deque<Finished> finished_;
    std::deque<Arrived> arrived_;
    std::atomic<std::uint64_t> owner_ = 0;  ///< How many there were before.
    /// Holds little: its owner has a few jobs in flight.
    TaskThread thread_{std::numeric_limits<std::size_t>::max()};
};

/// What a rank computes with, whoever coordinates: one for as long as it takes part.
struct LocalCompute {
    LocalCompute(Backend& backend, const Experiment& experiment, int ranks);

    ShardEvaluator shard_evaluator;
    const std::int64_t memory_limit;  ///< Of the backend, which only its thread asks as it works.
    std::unique_ptr<ComputeThread> thread;  ///< None with one rank, which works on its own.
};

}  // namespace cambrian::distributed
