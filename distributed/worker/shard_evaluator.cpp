#include "cambrian/distributed/worker/shard_evaluator.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
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

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

ShardEvaluator::ShardEvaluator(Backend& backend, const Experiment& experiment)
    : genomes_(spare_bytes),
      variation_(experiment.seed, experiment.variation),
      evaluator_(backend, *experiment.task, experiment.seed,
                 evolve::family_of(experiment.family, experiment.variation.mutation)),
      threads_(backend.threads()) {
    if (!experiment.distribution.fallback) {
        return;
    }
    make_fallback_ = [&experiment] {
        Fallback made{experiment.distribution.fallback(), nullptr};
        made.evaluator = std::make_unique<evolve::Evaluator>(
            *made.backend, *experiment.task, experiment.seed,
            evolve::family_of(experiment.family, experiment.variation.mutation));
        return made;
    };
}

JobResult ShardEvaluator::work(const Job& job) {
    JobResult result;
    result.shard = job.shard;
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
        result.outcomes.clear();
        result.genomes.clear();
        result.failure = std::current_exception();
    }
    return result;
}

SharedGenome ShardEvaluator::child_of(const Job& job, std::size_t index, GenomePool::Blank& blank,
                                      evolve::Outcome& outcome) const {
    if (!job.children.empty()) {
        outcome.retries = job.children[index].retries;
        outcome.genome = evolve::content_hash(*job.children[index].genome);
        return job.children[index].genome;
    }
    const evolve::Birth& birth = job.births[index];
    Child child = make_child(variation_, birth, *job.parents, blank);
    outcome.retries = child.retries;
    outcome.genome = birth.recipe == evolve::Recipe::carry ? birth.parents.front().genome
                                                           : evolve::content_hash(*child.genome);
    return std::move(child.genome);
}

void ShardEvaluator::make_children(const Job& job, JobResult& result) {
    const std::size_t count = job.births.size();
    result.outcomes.resize(count);
    result.genomes.resize(count);
    const auto make = [&](std::int64_t block, int) {
        const std::size_t first = static_cast<std::size_t>(block) * births_at_once;
        const std::size_t end = std::min(first + births_at_once, count);
        std::vector<GenomePool::Blank> blanks = genomes_.take(end - first);
        for (std::size_t i = first; i < end; ++i) {
            evolve::Outcome& outcome = result.outcomes[i];
            outcome.id = job.births[i].id;
            result.genomes[i] = child_of(job, i, blanks[i - first], outcome);
            outcome.parameters = result.genomes[i]->weights.size();
        }
    };
    threads_.for_each(static_cast<std::int64_t>((count + births_at_once - 1) / births_at_once),
                      make);
}

std::vector<evolve::Evaluation> ShardEvaluator::evaluations(Genomes genomes, const Job& job,
                                                            JobResult& result) {
    try {
        return evaluator_.evaluate(genomes, job.round);
    } catch (const OutOfMemoryError&) {
        if (!make_fallback_) {
            throw;
        }
    }
    if (!fallback_.evaluator) {
        fallback_ = make_fallback_();
    }
    ++result.cost.fallbacks;
    return fallback_.evaluator->evaluate(genomes, job.round);
}

void ShardEvaluator::evaluate(const Job& job, JobResult& result) {
    std::vector<const evolve::Genome*> genomes;
    genomes.reserve(result.genomes.size());
    for (const SharedGenome& genome : result.genomes) {
        genomes.push_back(genome.get());
    }
    std::vector<evolve::Evaluation> evaluations = this->evaluations(genomes, job, result);
    CAMBRIAN_ASSERT(evaluations.size() == genomes.size());
    for (std::size_t i = 0; i < evaluations.size(); ++i) {
        evolve::Outcome& outcome = result.outcomes[i];
        const double fitness = evaluations[i].fitness;
        const bool valid = evaluations[i].status == evolve::Status::ok && std::isfinite(fitness);
        outcome.status = valid ? evolve::Status::ok : evolve::Status::non_finite;
        outcome.fitness = valid ? fitness : evolve::worst_fitness;
        outcome.per_sample = std::move(evaluations[i].per_sample);
        outcome.env_steps = evaluations[i].env_steps;
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
