#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "cambrian/distributed/worker/shard_evaluator.hpp"
#include "cambrian/engine/core/clock.hpp"
#include "cambrian/engine/core/error.hpp"

// The births of a shard in parts, the host ahead of the device.
namespace cambrian::distributed {

namespace {

/// Part `index` of so many, of nearly the same size.
OrderRange part_of(std::size_t births, std::size_t parts, std::size_t index) {
    return {births * index / parts, births * (index + 1) / parts};
}

}  // namespace

bool ShardEvaluator::may_be_split() const {
    return backend_.asynchronous() && !task_->signature().host && !learner_ &&
           !variation_.develops();
}

void ShardEvaluator::live_in_parts(Job& job, JobResult& result, Lives& lives, std::size_t parts) {
    const Job host_job = with_parents_on_host(job);
    const std::function<void()> let_go = [&] { release(std::move(job.retired)); };
    std::size_t made = 0;
    const auto make = [&](std::size_t end) {
        const Clock::time_point start = Clock::now();
        make_on_host(host_job, {std::exchange(made, end), end}, result, lives.retries);
        result.cost.vary += seconds_since(start);
    };
    // Memory that was used before: that of a new vector is made page by page.
    lives.evaluations = std::exchange(evaluations_, {});
    lives.evaluations.resize(job.size());
    const std::size_t flights = std::min(parts, evaluator_->flights());
    std::size_t collected = 0;
    const auto collect = [&](std::size_t part_end) {
        for (; collected < part_end; ++collected) {
            const OrderRange of = part_of(job.size(), parts, collected);
            evaluator_->finish(collected % flights,
                               std::span(lives.evaluations).subspan(of.begin, of.size()));
        }
    };
    try {
        for (std::size_t part = 0; part < parts; ++part) {
            const OrderRange indices = part_of(job.size(), parts, part);
            make(indices.end);
            collect(part + 1 > flights ? part + 1 - flights : 0);
            const auto genomes =
                pointers_to(std::span(result.genomes).subspan(indices.begin, indices.size()));
            // Threads that free the generation before are missed until the last part is made.
            const bool last = part + 1 == parts;
            evaluator_->start(part % flights, flights, genomes, job.evaluation,
                              {.samples = false, .meanwhile = last ? &let_go : nullptr});
        }
        collect(parts);
    } catch (const OutOfMemoryError&) {
        ++result.cost.memory_splits;
        static_cast<void>(evaluator_->forget_flights());
        make(job.size());
        lives.evaluations = evaluations(job, result);
    }
}

}  // namespace cambrian::distributed
