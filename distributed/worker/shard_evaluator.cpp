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
constexpr std::uint64_t spare_bytes = std::uint64_t{512} << 20U;

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

std::uint64_t parameters_of(const evolve::Individual& individual) {
    return static_cast<std::uint64_t>(individual.structure->weight_count());
}

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

ShardEvaluator::ShardEvaluator(Backend& backend, const Experiment& experiment, bool alone)
    : backend_(backend),
      genomes_(spare_bytes),
      variation_(experiment.seed, experiment.variation),
      on_backend_(
          alone && backend.inherits()
              ? std::make_unique<evolve::BackendChildren>(
                    backend, variation_, evolve::family_of(experiment.family, experiment.variation))
              : nullptr),
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

ReadyChild ShardEvaluator::child_of(const Job& job, std::size_t index, evolve::ChildPlan& plan,
                                    GenomePool::Blank& blank) const {
    if (!job.children.empty()) {
        return job.children[index];
    }
    const evolve::Birth birth =
        job.round->strategy->birth(job.round->order[job.births.begin + index]);
    Child child = make_child(variation_, birth, *job.parents, plan, blank);
    return {std::move(child.genome), child.retries};
}

void ShardEvaluator::make_children(const Job& job, JobResult& result) {
    const std::size_t count = job.size();
    CAMBRIAN_EXPECT(job.children.empty() || job.children.size() == count);
    result.genomes.resize(count);
    std::vector<std::uint32_t> retries(count);
    if (!make_on_backend(job, result, retries)) {
        make_on_host(job, result, retries);
    }
    result.scores.retries = std::accumulate(retries.begin(), retries.end(), std::uint64_t{0});
    if (details_) {
        result.scores.details.retries = std::move(retries);
    }
}

bool ShardEvaluator::make_on_backend(const Job& job, JobResult& result,
                                     std::vector<std::uint32_t>& retries) {
    using Conception = evolve::BackendChildren::Conception;
    if (!on_backend_ || !job.children.empty()) {
        return false;
    }
    const auto small = [this](const SharedIndividual& parent) {
        return parent && !on_backend_->lies_here(*parent->structure);
    };
    if (std::ranges::any_of(*job.parents, small)) {
        return false;
    }
    const std::size_t count = job.size();
    std::vector<Conception> conceptions;
    std::vector<std::size_t> indices;  // of births that are not carried
    for (std::size_t i = 0; i < count; ++i) {
        const evolve::Birth birth =
            job.round->strategy->birth(job.round->order[job.births.begin + i]);
        if (birth.recipe == evolve::Recipe::carry) {
            result.genomes[i] = (*job.parents)[index_of(birth.parents.front().place)];
            continue;
        }
        Conception& conception = conceptions.emplace_back(Conception{birth});
        const ParentGenomes parents(birth, *job.parents);
        std::ranges::copy(parents.span(), conception.parents.begin());
        indices.push_back(i);
    }
    std::vector<GenomePool::Blank> blanks = genomes_.take(conceptions.size());
    std::vector<evolve::Individual*> children;
    std::ranges::transform(blanks, std::back_inserter(children),
                           [](const GenomePool::Blank& blank) { return blank.get(); });
    std::vector<std::uint32_t> made_retries(children.size());
    const std::uint64_t refusals = on_backend_->refusals();
    const bool made = on_backend_->make(conceptions, children, made_retries);
    result.cost.memory_splits += on_backend_->refusals() - refusals;
    for (std::size_t i = 0; made && i < indices.size(); ++i) {
        result.genomes[indices[i]] = std::move(blanks[i]);
        retries[indices[i]] = made_retries[i];
    }
    return made;
}

void ShardEvaluator::make_on_host(const Job& job, JobResult& result,
                                  std::vector<std::uint32_t>& retries) {
    Job home_job = job;
    home_job.parents = home(job.parents);
    const std::size_t count = job.size();
    std::vector<evolve::ChildPlan> plans(static_cast<std::size_t>(threads_.threads()));
    const auto make = [&](std::int64_t block, int worker) {
        const std::size_t first = static_cast<std::size_t>(block) * births_at_once;
        const std::size_t end = std::min(first + births_at_once, count);
        std::vector<GenomePool::Blank> blanks = genomes_.take(end - first);
        evolve::ChildPlan& plan = plans[static_cast<std::size_t>(worker)];
        for (std::size_t i = first; i < end; ++i) {
            ReadyChild child = child_of(home_job, i, plan, blanks[i - first]);
            result.genomes[i] = std::move(child.genome);
            retries[i] = child.retries;
        }
    };
    threads_.for_each(static_cast<std::int64_t>((count + births_at_once - 1) / births_at_once),
                      make);
}

SharedIndividual ShardEvaluator::home(SharedIndividual genome) const {
    return genome->home()
               ? genome
               : std::make_shared<const evolve::Individual>(evolve::bring_home(*genome, backend_));
}

std::shared_ptr<const PoolGenomes> ShardEvaluator::home(
    const std::shared_ptr<const PoolGenomes>& genomes) const {
    const auto away = [](const SharedIndividual& genome) { return genome && !genome->home(); };
    if (!genomes || std::ranges::none_of(*genomes, away)) {
        return genomes;
    }
    const auto all = std::make_shared<PoolGenomes>(*genomes);
    for (SharedIndividual& genome : *all) {
        if (away(genome)) {
            genome = home(genome);
        }
    }
    return all;
}

std::vector<evolve::Evaluation> ShardEvaluator::evaluations(Genomes genomes, const Job& job,
                                                            JobResult& result) {
    try {
        const std::function<void()> let_go = [&job] { job.retired = nullptr; };
        return evaluator_.evaluate(genomes, job.evaluation,
                                   {.samples = false, .meanwhile = &let_go});
    } catch (const OutOfMemoryError&) {
        if (!make_fallback_) {
            throw;
        }
    }
    if (!fallback_.evaluator) {
        fallback_ = make_fallback_();
    }
    ++result.cost.fallbacks;
    std::vector<evolve::Individual> at_home;
    at_home.reserve(genomes.size());
    std::vector<const evolve::Individual*> pointers;
    for (const evolve::Individual* genome : genomes) {
        pointers.push_back(
            genome->row ? &at_home.emplace_back(evolve::bring_home(*genome, backend_)) : genome);
    }
    return fallback_.evaluator->evaluate(pointers, job.evaluation, {.samples = false});
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
            shard.details.parameters.push_back(parameters_of(*genomes[i]));
        }
    }
    if (const auto best = fittest(scores, job)) {
        shard.parameters_of_best = parameters_of(*genomes[*best]);
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
