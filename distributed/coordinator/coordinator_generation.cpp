#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "cambrian/distributed/coordinator/coordinator.hpp"
#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"

// One generation: births, outcomes, survivors, the champion, the line in the log.
namespace cambrian::distributed {

namespace {

/// The fittest valid position, the first of equals; nothing when none is valid.
std::optional<std::uint64_t> fittest(const evolve::Scores& scores) {
    std::optional<std::uint64_t> best;
    for (std::uint64_t i = 0; i < scores.size(); ++i) {
        if (scores.valid(i) && (!best || scores.fitness[i] > scores.fitness[*best])) {
            best = i;
        }
    }
    return best;
}

/// Whether a validated network beats one that is not, else whether the compared value is higher.
bool better(const Champion& challenger, const std::optional<Champion>& champion) {
    if (!champion) {
        return true;
    }
    if (challenger.validated.has_value() != champion->validated.has_value()) {
        return challenger.validated.has_value();
    }
    return challenger.validated ? *challenger.validated > *champion->validated
                                : challenger.fitness > champion->fitness;
}

}  // namespace

bool Coordinator::advance() {
    Generation generation;
    generation.begun = Clock::now();
    generation.round = scheduler_.follower().round();
    if (!evaluate(generation)) {
        return false;
    }
    refuse_total_failure(generation);
    GenerationReport report = summarise(generation);
    if (!judge_champion(generation, report)) {
        return false;
    }
    evolve::Decision decision =
        generation.round->strategy->decide(generation.results.scores, scheduler_.threads());
    commit(std::move(generation), std::move(decision), report);
    return true;
}

bool Coordinator::evaluate(Generation& generation) {
    auto results = scheduler_.evaluate();
    if (!results) {
        return false;
    }
    generation.results = std::move(*results);
    generation.evaluators = evaluators(*generation.round, generation.results.holders);
    score_carried(generation);
    return true;
}

void Coordinator::score_carried(Generation& generation) const {
    const evolve::Strategy& strategy = *generation.round->strategy;
    evolve::Scores& scores = generation.results.scores;
    for (std::uint64_t position = 0; position < scores.size(); ++position) {
        if (generation.evaluators[position] == nobody) {
            scores.fitness[position] = strategy.birth(position).parents.front().fitness;
            scores.status[position] = evolve::Status::ok;
        }
    }
}

void Coordinator::refuse_total_failure(const Generation& generation) const {
    const bool all_failed =
        std::ranges::all_of(generation.results.scores.status,
                            [](evolve::Status status) { return status == evolve::Status::failed; });
    if (all_failed) {
        throw Error(
            fmt::format("no individual of generation {} could be evaluated (the warnings "
                        "above say why) mend the task",
                        generation.round->generation()));
    }
}

std::optional<SharedIndividual> Coordinator::genome_of(const Generation& generation,
                                                       std::uint64_t position) {
    return scheduler_.genome_of(position, generation.evaluators[position]);
}

Champion Coordinator::challenger_of(const Generation& generation, std::uint64_t position,
                                    std::optional<double> validated) const {
    const evolve::Strategy& strategy = *generation.round->strategy;
    const evolve::Birth birth = strategy.birth(position);
    const evolve::BirthId origin =
        birth.recipe == evolve::Recipe::carry
            ? strategy.parent_pool()[index_of(birth.parents.front().place)].origin
            : birth.id;
    return {nullptr,
            strategy.generation(),
            birth.id,
            origin,
            generation.results.scores.fitness[position],
            validated};
}

GenerationReport Coordinator::summarise(const Generation& generation) {
    const GenerationResults& results = generation.results;
    GenerationReport report;
    report.generation = generation.round->generation();
    report.evaluations = (last_ ? last_->evaluations : 0) + generation.round->order.size();
    report.env_steps = (last_ ? last_->env_steps : 0) + results.env_steps;
    report.retries = results.retries;
    report.best = report.mean = report.worst = evolve::worst_fitness;
    double sum = 0.0;
    std::uint64_t count = 0;
    for (std::uint64_t position = 0; position < results.scores.size(); ++position) {
        if (!results.scores.valid(position)) {
            ++report.invalid;
            continue;
        }
        const double fitness = results.scores.fitness[position];
        report.worst = count == 0 ? fitness : std::min(report.worst, fitness);
        sum += fitness;
        ++count;
    }
    if (const auto best = fittest(results.scores)) {
        report.best = results.scores.fitness[*best];
        report.mean = sum / static_cast<double>(count);
        report.parameters = parameters_of(generation, *best);
    }
    return report;
}

std::uint64_t Coordinator::parameters_of(const Generation& generation, std::uint64_t position) {
    const evolve::BirthId origin = challenger_of(generation, position, std::nullopt).origin;
    if (fittest_parameters_ > 0 && origin == fittest_origin_) {
        return fittest_parameters_;
    }
    fittest_origin_ = origin;
    const auto at =
        std::ranges::find(generation.results.bests, position, &GenerationResults::Best::position);
    if (at != generation.results.bests.end()) {
        fittest_parameters_ = at->parameters;
    } else if (const auto genome = genome_of(generation, position)) {
        fittest_parameters_ = static_cast<std::uint64_t>((*genome)->structure->weight_count());
    }
    return fittest_parameters_;
}

bool Coordinator::judge_initial(const Generation& generation) {
    const auto& initial = experiment_.variation.initial;
    if (!signature_.validates || !initial || !initial->keeps_weights ||
        !generation.results.scores.valid(0)) {
        return true;
    }
    GenerationReport apart;
    const auto genome = genome_of(generation, 0);
    return genome && validate(*genome, apart) && challenge(generation, 0, apart.validated);
}

bool Coordinator::judge_champion(const Generation& generation, GenerationReport& report) {
    if (report.generation == 0 && !judge_initial(generation)) {
        return false;
    }
    const auto best = fittest(generation.results.scores);
    if (!best) {
        return true;
    }
    const std::uint64_t every = experiment_.validation.every;
    const bool due = every > 0 && (report.generation + 1) % every == 0;
    if (signature_.validates && due) {
        const auto genome = genome_of(generation, *best);
        if (!genome || !validate(*genome, report)) {
            return false;
        }
    }
    return challenge(generation, *best, report.validated);
}

bool Coordinator::validate(const SharedIndividual& genome, GenerationReport& report) {
    const auto judged =
        scheduler_.evaluate_alone(genome, {evolve::Phase::validation, report.generation});
    if (!judged) {
        return false;
    }
    if (judged->failure) {
        std::rethrow_exception(judged->failure);
    }
    if (judged->scores.scores.valid(0)) {
        report.validated = judged->scores.scores.fitness.front();
    }
    return true;
}

bool Coordinator::challenge(const Generation& generation, std::uint64_t position,
                            std::optional<double> validated) {
    Champion challenger = challenger_of(generation, position, validated);
    if (!better(challenger, champion_)) {
        return true;
    }
    const auto genome = genome_of(generation, position);
    if (!genome) {
        return false;
    }
    challenger.genome = scheduler_.home(*genome);
    champion_ = std::move(challenger);
    champion_on_disk_ = false;
    return true;
}

bool Coordinator::judge_last() {
    const std::span<const evolve::Member> pool = strategy().parent_pool();
    if (!signature_.validates || !last_ || last_->validated || pool.empty()) {
        return true;
    }
    const auto place = std::ranges::max_element(pool, {}, &evolve::Member::fitness) - pool.begin();
    const evolve::Member& best = pool[static_cast<std::size_t>(place)];
    const SharedIndividual genome = scheduler_.follower().parent(static_cast<std::size_t>(place));
    if (!validate(genome, *last_)) {
        return false;
    }
    const Champion challenger{
        scheduler_.home(genome), last_->generation, best.birth, best.origin, best.fitness,
        last_->validated};
    if (better(challenger, champion_)) {
        champion_ = challenger;
        champion_on_disk_ = false;
    }
    const bool news = !std::exchange(champion_on_disk_, true);
    write([this, news] {
        reign_watch_->check();
        log_->amend(*last_);
        log_->sync();
        if (news) {
            write_best(champion_);
        }
    });
    drain();
    return true;
}

void Coordinator::commit(Generation&& generation, evolve::Decision decision,
                         GenerationReport report) {
    // What the journal of a new run follows: nothing is kept of one that never came so far.
    std::shared_ptr<Checkpoint> start;
    if (!std::exchange(begun_, true)) {
        start = std::make_shared<Checkpoint>(state_of(*generation.round->strategy));
        start->champion.reset();
    }
    Record record{report.generation, std::move(decision), generation.results.holders};
    JournalEntry entry;
    entry.generation = record.generation;
    entry.digest = generation.round->digest;
    entry.decision = record.decision;
    scheduler_.follow(std::move(record));
    ancestry_.add(scheduler_.follower().round()->strategy);
    report.seconds = std::chrono::duration<double>(Clock::now() - generation.begun).count();
    report.elapsed_seconds = elapsed();
    const std::vector<RankSeconds> ranks = scheduler_.take_seconds();
    for (const RankSeconds& rank : ranks) {
        const double share = 1.0 / static_cast<double>(ranks.size());
        report.evaluate_seconds += share * rank.cost.evaluate;
        report.vary_seconds += share * rank.cost.vary;
        report.wait_seconds += share * rank.cost.wait;
    }
    entry.report = report;
    entry.champion = champion_;
    if (entry.champion) {
        entry.champion->genome = nullptr;
    }
    entry.elapsed_seconds = report.elapsed_seconds;
    const auto columns = std::make_shared<const GenerationColumns>(
        GenerationColumns{std::move(generation.round), std::move(generation.results.scores),
                          std::move(generation.results.details), std::move(generation.evaluators)});
    write([this, columns, entry = std::move(entry), ranks, start]() mutable {
        reign_watch_->check();
        if (start) {
            start->logs = log_->lengths();
            start->checksums = log_->checksums();
            directory_->save(*start);
        }
        log_->append(entry.report, *columns, ranks);
        entry.logs = log_->lengths();
        entry.checksums = log_->checksums();
        journal_->append(entry);
    });
    last_ = report;
    reporter_.generation_done(report);
}

}  // namespace cambrian::distributed
