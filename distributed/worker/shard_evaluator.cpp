#include "cambrian/distributed/worker/shard_evaluator.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <numeric>
#include <optional>
#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"

namespace cambrian::distributed {

namespace {

using Clock = std::chrono::steady_clock;

/// Births that a thread takes at once: a few tens of microseconds.
constexpr std::size_t births_at_once = 32;
/// Memory of retired genomes that waits to be used again.
constexpr std::uint64_t spare_bytes = std::uint64_t{64} << 20U;

/// Index of the fittest, of equals the one with the lowest position; nothing where none is valid.
std::optional<std::size_t> fittest(const evolve::Scores& scores, const Job& job) {
    const auto position = [&](std::size_t index) {
        return job.round ? job.round->order[job.births.begin + index] : index;
    };
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < scores.size(); ++i) {
        if (!scores.valid(i)) {
            continue;
        }
        if (!best || scores.fitness[i] > scores.fitness[*best] ||
            (scores.fitness[i] == scores.fitness[*best] && position(i) < position(*best))) {
            best = i;
        }
    }
    return best;
}

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

ShardEvaluator::ShardEvaluator(Backend& backend, const Experiment& experiment)
    : genomes_(spare_bytes),
      variation_(experiment.seed, experiment.variation),
      evaluator_(backend, *experiment.task, experiment.seed,
                 evolve::family_of(experiment.family, experiment.variation)),
      details_(experiment.log.individuals == LoggedIndividuals::all),
      threads_(backend.threads()) {
    if (!experiment.distribution.fallback) {
        return;
    }
    make_fallback_ = [&experiment] {
        Fallback made{experiment.distribution.fallback(), nullptr};
        made.evaluator = std::make_unique<evolve::Evaluator>(
            *made.backend, *experiment.task, experiment.seed,
            evolve::family_of(experiment.family, experiment.variation));
        return made;
    };
}

JobResult ShardEvaluator::work(const Job& job) {
    JobResult result;
    result.shard = job.shard;
    result.round = job.round;
    result.births = job.births;
    try {
        const Clock::time_point start = Clock::now();
        make_children(job, result);
        result.cost.vary = seconds_since(start);
        const Clock::time_point built = Clock::now();
        const evolve::Evaluator::Counters before = evaluator_.counters();
        evaluate(job, result);
        const evolve::Evaluator::Counters after = evaluator_.counters();
        result.cost.programs_compiled = after.programs_compiled - before.programs_compiled;
        result.cost.memory_splits += after.memory_splits - before.memory_splits;
        result.cost.evaluate = seconds_since(built);
    } catch (...) {
        result.scores = {};
        result.genomes.clear();
        result.failure = std::current_exception();
    }
    return result;
}

ReadyChild ShardEvaluator::child_of(const Job& job, std::size_t index,
                                    GenomePool::Blank& blank) const {
    if (!job.children.empty()) {
        return job.children[index];
    }
    const evolve::Birth birth =
        job.round->strategy->birth(job.round->order[job.births.begin + index]);
    Child child = make_child(variation_, birth, *job.parents, blank);
    return {std::move(child.genome), child.retries};
}

void ShardEvaluator::make_children(const Job& job, JobResult& result) {
    const std::size_t count = job.size();
    CAMBRIAN_EXPECT(job.children.empty() || job.children.size() == count);
    result.genomes.resize(count);
    std::vector<std::uint32_t> retries(count);
    const auto make = [&](std::int64_t block, int) {
        const std::size_t first = static_cast<std::size_t>(block) * births_at_once;
        const std::size_t end = std::min(first + births_at_once, count);
        std::vector<GenomePool::Blank> blanks = genomes_.take(end - first);
        for (std::size_t i = first; i < end; ++i) {
            ReadyChild child = child_of(job, i, blanks[i - first]);
            result.genomes[i] = std::move(child.genome);
            retries[i] = child.retries;
        }
    };
    threads_.for_each(static_cast<std::int64_t>((count + births_at_once - 1) / births_at_once),
                      make);
    result.scores.retries = std::accumulate(retries.begin(), retries.end(), std::uint64_t{0});
    if (details_) {
        result.scores.details.retries = std::move(retries);
    }
}

std::vector<evolve::Evaluation> ShardEvaluator::evaluations(Genomes genomes, const Job& job,
                                                            JobResult& result) {
    try {
        return evaluator_.evaluate(genomes, job.evaluation);
    } catch (const OutOfMemoryError&) {
        if (!make_fallback_) {
            throw;
        }
    }
    if (!fallback_.evaluator) {
        fallback_ = make_fallback_();
    }
    ++result.cost.fallbacks;
    return fallback_.evaluator->evaluate(genomes, job.evaluation);
}

void ShardEvaluator::evaluate(const Job& job, JobResult& result) {
    std::vector<const evolve::Individual*> genomes;
    genomes.reserve(result.genomes.size());
    for (const SharedIndividual& genome : result.genomes) {
        genomes.push_back(genome.get());
    }
    const std::vector<evolve::Evaluation> evaluations = this->evaluations(genomes, job, result);
    CAMBRIAN_ASSERT(evaluations.size() == genomes.size());
    ShardScores& shard = result.scores;
    evolve::Scores& scores = shard.scores = evolve::Scores(evaluations.size());
    for (std::size_t i = 0; i < evaluations.size(); ++i) {
        const double fitness = evaluations[i].fitness;
        const bool valid = evaluations[i].status == evolve::Status::ok && std::isfinite(fitness);
        scores.status[i] = valid ? evolve::Status::ok : evolve::Status::non_finite;
        scores.fitness[i] = valid ? fitness : evolve::worst_fitness;
        shard.env_steps += evaluations[i].env_steps;
        if (details_) {
            shard.details.env_steps.push_back(evaluations[i].env_steps);
            shard.details.parameters.push_back(genomes[i]->weights.size());
        }
    }
    if (const auto best = fittest(scores, job)) {
        shard.parameters_of_best = genomes[*best]->weights.size();
    }
}

std::string describe(const std::exception_ptr& failure) {
    try {
        std::rethrow_exception(failure);
    } catch (const std::exception& error) {
        return error.what();
    } catch (...) {
        return "something that is no std::exception was thrown";
    }
}

bool rank_lost(const std::exception_ptr& failure) {
    try {
        std::rethrow_exception(failure);
    } catch (const DeviceError&) {
        return true;
    } catch (...) {
        return false;
    }
}

}  // namespace cambrian::distributed
