#include "cambrian/distributed/worker/compute_thread.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace cambrian::distributed {

LocalCompute::LocalCompute(Backend& backend, const Experiment& experiment, int ranks)
    : shard_evaluator(backend, experiment, weights_may_stay(experiment, ranks)),
      memory_limit(backend.memory().limit),
      thread(ranks > 1 ? std::make_unique<ComputeThread>(shard_evaluator) : nullptr) {}

void ComputeThread::change_owner() {
    const bool works = occupied_ || in_flight_ > 0 || changing_ > 0;
    {
        const std::lock_guard lock(mutex_);
        ++owner_;
        finished_.clear();
        arrived_.clear();
    }
    in_flight_ = 0;
    changing_ = 0;
    occupied_ = works;
    thread_.submit([this] {
        remaking_ = 0.0;
        remade_ = 0;
        idle_since_ = Clock::now();
    });
    if (works) {
        // Its turn comes after the running job.
        change(
            {}, [](auto&) {}, [this](const auto&) { occupied_ = false; });
    }
}

void ComputeThread::submit(Job job) {
    ++in_flight_;
    thread_.submit(
        [this, owner = owner_.load(), job = std::move(job)]() mutable { work(job, owner); });
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

void ComputeThread::bring_to_host(std::vector<SharedIndividual> genomes, Arrival arrival) {
    if (std::ranges::all_of(genomes, [](const auto& genome) { return genome->on_host(); })) {
        arrival(std::move(genomes));
        return;
    }
    change(
        std::move(genomes),
        [this](std::vector<SharedIndividual>& all) {
            for (SharedIndividual& genome : all) {
                genome = shard_evaluator_.on_host(std::move(genome));
            }
        },
        std::move(arrival));
}

void ComputeThread::change(std::vector<SharedIndividual> genomes, Change change, Arrival arrival) {
    ++changing_;
    Arrived wanted{std::move(genomes), std::move(change), std::move(arrival), nullptr, {}};
    thread_.submit([this, owner = owner_.load(), wanted = std::move(wanted)]() mutable {
        apply(wanted, owner);
    });
}

void ComputeThread::remake(Follower& follower, const SharedRound& round, Remakes&& remakes) {
    const auto wanted = std::make_shared<const Remakes>(std::move(remakes));
    const auto make = [this, round, wanted](std::vector<SharedIndividual>& made) {
        const Clock::time_point start = Clock::now();
        made = shard_evaluator_.remake(round, *wanted);
        remaking_ += seconds_since(start);
        remade_ += made.size();
    };
    change({}, make, [&follower, round, wanted](std::vector<SharedIndividual> made) {
        const std::uint64_t generation = round->generation();
        if (!follower.is_open(generation) || follower.round(generation) != round) {
            return;  // The rank has jumped to another state.
        }
        for (std::size_t i = 0; i < made.size(); ++i) {
            follower.fill(*round, wanted->recipes[i].place, std::move(made[i]));
        }
    });
}

void ComputeThread::apply(Arrived& wanted, std::uint64_t owner) {
    if (owner != owner_) {
        return;
    }
    try {
        wanted.change(wanted.genomes);
    } catch (...) {
        wanted.failure = std::current_exception();
    }
    wanted.time = Clock::now();
    const std::lock_guard lock(mutex_);
    if (owner == owner_) {
        arrived_.push_back(std::move(wanted));
    }
}

void ComputeThread::hand_over() {
    if (!changes()) {
        return;
    }
    std::deque<Arrived> arrived;
    {
        const std::lock_guard lock(mutex_);
        const auto to_come = std::ranges::find_if(
            arrived_, [now = Clock::now()](const Arrived& one) { return one.time > now; });
        std::move(arrived_.begin(), to_come, std::back_inserter(arrived));
        arrived_.erase(arrived_.begin(), to_come);
    }
    for (Arrived& one : arrived) {
        --changing_;
        if (one.failure) {
            std::rethrow_exception(one.failure);
        }
        one.arrival(std::move(one.genomes));
    }
}

void ComputeThread::work(Job& job, std::uint64_t owner) {
    if (owner != owner_) {
        return;
    }
    const double waited = seconds_since(idle_since_);
    JobResult result = shard_evaluator_.work(job);
    result.remaking = std::exchange(remaking_, 0.0);
    result.remade = std::exchange(remade_, 0);
    result.cost.wait = std::max(0.0, waited - result.remaking);
    idle_since_ = Clock::now();
    // Before all that the job held is let go: the owner does not wait for that.
    const std::lock_guard lock(mutex_);
    if (owner == owner_) {
        finished_.push_back({std::move(result), idle_since_});
    }
}

}  // namespace cambrian::distributed
