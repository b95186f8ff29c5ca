#include "cambrian/distributed/worker/shard_evaluator.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <numeric>
#include <optional>
#include <utility>

#include "cambrian/distributed/generation/blocks.hpp"
#include "cambrian/engine/core/clock.hpp"
#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"

namespace cambrian::distributed {

namespace {

constexpr std::size_t scores_at_once = 256;
/// With queues beside each other a part of a shard fills what the others leave of a device.
constexpr PartChoice::Settings parts_of_queues{.min_births = 1024, .first_births = 16384};

/// What the scores of some births come to.
struct ScoreSums {
    std::uint64_t env_steps = 0;
    FittestBirth fittest;

    void add(const ScoreSums& other) {
        env_steps += other.env_steps;
        fittest.add(other.fittest);
    }
};

std::uint64_t parameters_of(const evolve::Individual& individual) {
    return static_cast<std::uint64_t>(individual.structure->weight_count());
}

}  // namespace

std::vector<const evolve::Individual*> pointers_to(std::span<const SharedIndividual> genomes) {
    std::vector<const evolve::Individual*> pointers;
    pointers.reserve(genomes.size());
    std::ranges::transform(genomes, std::back_inserter(pointers), &SharedIndividual::get);
    return pointers;
}

bool weights_may_stay(const Experiment& experiment, int ranks) {
    return !experiment.learning.on() && !develops(experiment.variation) &&
           (ranks == 1 || experiment.distribution.exchange == Exchange::births);
}

ShardEvaluator::ShardEvaluator(Backend& backend, const Experiment& experiment, bool weights_stay)
    : backend_(backend),
      experiment_(experiment),
      genomes_(backend.threads().threads()),
      variation_(experiment.seed, experiment.variation),
      on_backend_(
          weights_stay && backend.inherits() && !variation_.reads_weights()
              ? std::make_unique<evolve::BackendChildren>(
                    backend, variation_, evolve::family_of(experiment.family, experiment.variation))
              : nullptr),
      part_choice_(backend.queues() > 1 ? parts_of_queues : PartChoice::Settings{}),
      details_(experiment.log.individuals != LoggedIndividuals::none),
      threads_(backend.threads()),
      releases_(threads_.threads() > 1 ? std::make_unique<TaskThread>(1) : nullptr) {
    begin_task(0);
    if (!experiment.distribution.fallback) {
        return;
    }
    make_fallback_ = [this] {
        Fallback made{experiment_.distribution.fallback(), nullptr, nullptr};
        made.evaluator = std::make_unique<evolve::Evaluator>(
            *made.backend, *task_, experiment_.seed,
            evolve::family_of(experiment_.family, experiment_.variation));
        if (experiment_.learning.on()) {
            made.learner = std::make_unique<evolve::Learner>(
                *made.backend, *task_, experiment_.seed, experiment_.learning);
        }
        return made;
    };
}

ShardEvaluator::Fallback& ShardEvaluator::fallback() {
    backend_.forget_errors();  // It does what was begun there.
    if (!fallback_.evaluator) {
        fallback_ = make_fallback_();
    }
    return fallback_;
}

void ShardEvaluator::begin_task(std::uint64_t generation) {
    const evolve::Task* task = experiment_.task_at(generation).get();
    if (task == task_) {
        return;
    }
    task_ = nullptr;  // Until all is there.
    fallback_.evaluator = nullptr;
    fallback_.learner = nullptr;
    evaluator_ = nullptr;
    learner_ = nullptr;
    if (experiment_.learning.on()) {
        learner_ = std::make_unique<evolve::Learner>(backend_, *task, experiment_.seed,
                                                     experiment_.learning);
    }
    evaluator_ = std::make_unique<evolve::Evaluator>(
        backend_, *task, experiment_.seed,
        evolve::family_of(experiment_.family, experiment_.variation));
    task_ = task;
}

JobResult ShardEvaluator::work(Job& job) {
    JobResult result;
    result.shard = job.shard;
    result.round = job.round;
    result.births = job.births;
    try {
        const Clock::time_point start = Clock::now();
        begin_task(job.round ? job.round->generation() : job.generation);
        take_remade(job);
        const evolve::Evaluator::Counters before = evaluator_->counters();
        const std::uint64_t splits = learner_ ? learner_->memory_splits() : 0;
        Lives lives = live(job, result);
        score(job, lives.evaluations, result);
        evaluations_ = std::move(lives.evaluations);
        result.scores.retries =
            std::accumulate(lives.retries.begin(), lives.retries.end(), std::uint64_t{0});
        if (details_) result.scores.details.retries = std::move(lives.retries);
        if (!lives.born.empty()) result.genomes = std::move(lives.born);
        const evolve::Evaluator::Counters after = evaluator_->counters();
        result.cost.programs_compiled = after.programs_compiled - before.programs_compiled;
        result.cost.memory_splits += after.memory_splits - before.memory_splits +
                                     std::exchange(short_of_memory_, 0) +
                                     (learner_ ? learner_->memory_splits() - splits : 0);
        result.cost.fallbacks += std::exchange(taught_by_fallback_, 0);
        result.cost.evaluate = seconds_since(start) - result.cost.vary;
        const Clock::time_point evaluated = Clock::now();
        match_species(job, result);
        count_genes(job, result);
        result.cost.vary += seconds_since(evaluated);
    } catch (...) {
        result.scores = {};
        result.genomes.clear();
        result.failure = std::current_exception();
        backend_.forget_errors();  // Births of other jobs come next.
    }
    return result;
}

ShardEvaluator::Lives ShardEvaluator::live(Job& job, JobResult& result) {
    const Clock::time_point start = Clock::now();
    const std::size_t count = job.size();
    CAMBRIAN_EXPECT(job.children.empty() || job.children.size() == count);
    result.genomes.resize(count);
    Lives lives;
    lives.retries.resize(count);
    result.made_on_backend = make_on_backend(job, result, lives.retries);
    const bool split = !result.made_on_backend && may_be_split();
    const std::size_t parts = split ? part_choice_.parts(count) : 1;
    if (parts > 1) {
        live_in_parts(job, result, lives, parts);
    } else {
        if (!result.made_on_backend)
            make_on_host(with_parents_on_host(job), {0, count}, result, lives.retries);
        result.cost.vary = seconds_since(start);
        lives.born = variation_.develops() ? develop(result) : learn(job, result);
        lives.evaluations = evaluations(job, result);
    }
    if (split) part_choice_.note(count, seconds_since(start));
    return lives;
}

void ShardEvaluator::release(std::shared_ptr<const void>&& retired) {
    if (retired && releases_) {
        releases_->submit([held = std::exchange(retired, nullptr)]() mutable { held.reset(); });
    }
    retired = nullptr;
}

void ShardEvaluator::await_releases() {
    if (releases_) {
        releases_->drain();
    }
}

bool ShardEvaluator::move_to_host(Job& job, JobResult& result) {
    await_releases();
    bool moved = std::exchange(job.retired, nullptr) != nullptr;
    const auto bring = [&](SharedIndividual& genome) {
        moved = moved || (genome && genome->row);
        genome = genome ? on_host(genome) : nullptr;
    };
    for (Remade& remade : remade_) {
        if (remade.round.lock() != job.round) {  // Jobs of other open rounds still read them.
            std::ranges::for_each(remade.genomes, bring);
        }
    }
    std::ranges::for_each(result.genomes, bring);
    if (on_backend_) {
        on_backend_->trim();
    }
    return moved;
}

std::vector<evolve::Evaluation> ShardEvaluator::evaluations(Job& job, JobResult& result) {
    const std::function<void()> let_go = [&] { release(std::move(job.retired)); };
    const auto genomes = [&result] { return pointers_to(result.genomes); };
    const std::vector<evolve::BirthId> origins = origins_of(job);
    bool again = false;
    do {
        try {
            return evaluator_->evaluate(
                genomes(), job.evaluation,
                {.samples = false, .meanwhile = &let_go, .origins = origins});
        } catch (const OutOfMemoryError&) {
            const bool held = evaluator_->forget_flights();
            again = !again && (move_to_host(job, result) || held);
            result.cost.memory_splits += again ? 1 : 0;
            if (!again && !make_fallback_) {
                throw;
            }
        }
    } while (again);
    ++result.cost.fallbacks;
    return fallback().evaluator->evaluate(genomes(), job.evaluation,
                                          {.samples = false, .origins = origins});
}

std::vector<evolve::BirthId> ShardEvaluator::origins_of(const Job& job) const {
    if (!task_->signature().host) {
        return {};
    }
    std::vector<evolve::BirthId> origins(job.size());
    for (std::size_t i = 0; i < origins.size(); ++i) {
        origins[i] = job.round
                         ? evolve::origin_of(
                               *job.round->strategy,
                               job.round->strategy->birth(job.round->order[job.births.begin + i]))
                         : job.children[i].origin;
    }
    return origins;
}

std::vector<SharedIndividual> ShardEvaluator::develop(JobResult& result) {
    std::vector<SharedIndividual> genotypes = result.genomes;
    for_each_index(threads_, genotypes.size(), block_of_genomes, [&](std::size_t i) {
        result.genomes[i] =
            std::make_shared<const evolve::Individual>(variation_.develop(*genotypes[i]));
    });
    return genotypes;
}

std::vector<SharedIndividual> ShardEvaluator::learn(const Job& job, JobResult& result) {
    if (!learner_ || !job.round) {
        return {};
    }
    const std::uint64_t generation = job.round->generation();
    if (experiment_.learning.mode == evolve::LearningMode::baldwinian) {
        std::vector<SharedIndividual> born = result.genomes;
        teach(result.genomes, generation);
        return born;
    }
    // Who is carried over has learned.
    std::vector<std::size_t> indices;
    std::vector<SharedIndividual> children;
    for (std::size_t i = 0; i < result.genomes.size(); ++i) {
        if (!job.round->strategy->carries(job.round->order[job.births.begin + i])) {
            indices.push_back(i);
            children.push_back(result.genomes[i]);
        }
    }
    teach(children, generation);
    for (std::size_t i = 0; i < indices.size(); ++i) {
        result.genomes[indices[i]] = std::move(children[i]);
    }
    return {};
}

void ShardEvaluator::teach(std::vector<SharedIndividual>& genomes, std::uint64_t generation) {
    if (genomes.empty()) {
        return;
    }
    begin_task(generation);
    if (!learner_) {
        return;
    }
    std::vector<std::vector<float>> weights;
    try {
        weights = learner_->learn(pointers_to(genomes), generation);
    } catch (const OutOfMemoryError&) {
        if (!make_fallback_) {
            throw;
        }
        weights = fallback().learner->learn(pointers_to(genomes), generation);
        ++taught_by_fallback_;
    }
    for (std::size_t i = 0; i < genomes.size(); ++i) {
        const auto learned = std::make_shared<evolve::Individual>();
        learned->structure = genomes[i]->structure;
        learned->weights = std::move(weights[i]);
        genomes[i] = learned;
    }
}

void ShardEvaluator::score(const Job& job, std::span<const evolve::Evaluation> evaluations,
                           JobResult& result) const {
    CAMBRIAN_ASSERT(evaluations.size() == result.genomes.size());
    // Validation and tests are of the task alone.
    const bool priced = job.evaluation.phase == evolve::Phase::train;
    ShardScores& shard = result.scores;
    evolve::Scores& scores = shard.scores = evolve::Scores(evaluations.size());
    if (details_) {
        shard.details.env_steps.resize(evaluations.size());
        shard.details.parameters.resize(evaluations.size());
    }
    const auto sum_up = [&](std::size_t i, ScoreSums& sums) {
        const double fitness =
            evaluations[i].fitness -
            (priced ? price_of(experiment_, *result.genomes[i]->structure) : 0.0);
        const bool valid = evaluations[i].status == evolve::Status::ok && std::isfinite(fitness);
        const bool failed = evaluations[i].status == evolve::Status::failed;
        scores.status[i] = valid    ? evolve::Status::ok
                           : failed ? evolve::Status::failed
                                    : evolve::Status::non_finite;
        scores.fitness[i] = valid ? fitness : evolve::worst_fitness;
        sums.env_steps += evaluations[i].env_steps;
        if (valid) {
            const std::uint64_t position = job.round ? job.round->order[job.births.begin + i] : i;
            sums.fittest.add({i, position, fitness});
        }
        if (details_) {
            shard.details.env_steps[i] = evaluations[i].env_steps;
            shard.details.parameters[i] = parameters_of(*result.genomes[i]);
        }
    };
    const auto sums = sum_over<ScoreSums>(threads_, evaluations.size(), scores_at_once, sum_up);
    shard.env_steps = sums.env_steps;
    if (const auto best = sums.fittest.index) {
        shard.parameters_of_best = parameters_of(*result.genomes[*best]);
        const evolve::Structure& structure = *result.genomes[*best]->structure;
        shard.bytes_of_best = static_cast<std::uint64_t>(structure.stored_bytes());
        if (prices_products(experiment_)) {
            shard.products_of_best = static_cast<std::uint64_t>(structure.products());
        }
    }
}

void ShardEvaluator::match_species(const Job& job, JobResult& result) const {
    if (!job.round || job.round->kinship.empty()) {
        return;
    }
    const Round& round = *job.round;
    std::vector<std::vector<const evolve::Individual*>> representatives;
    for (const evolve::Kinship& kinship : round.kinship) {
        std::vector<const evolve::Individual*>& genomes = representatives.emplace_back();
        for (const evolve::PoolPlace place : kinship.representatives) {
            genomes.push_back((*job.parents)[index_of(place)].get());
        }
    }
    evolve::Scores& scores = result.scores.scores;
    scores.species.assign(scores.size(), evolve::unmatched);
    for_each_index(threads_, scores.size(), block_of_genomes, [&](std::size_t i) {
        const std::uint64_t position = round.order[job.births.begin + i];
        if (scores.valid(i) && !round.strategy->carries(position)) {
            const std::size_t range = kinship_at(round, position);
            scores.species[i] = evolve::matching_species(round.kinship[range], *result.genomes[i],
                                                         representatives[range]);
        }
    });
}

void ShardEvaluator::count_genes(const Job& job, JobResult& result) const {
    if (!job.round || !job.round->regulated) {
        return;
    }
    for (const auto& genome : result.genomes) {
        result.scores.scores.complexity.push_back(
            genome ? evolve::complexity(genome->structure->genome()) : 0U);
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
    } catch (const evolve::UntrustedTask&) {
        return true;
    } catch (...) {
        return false;
    }
}

}  // namespace cambrian::distributed
