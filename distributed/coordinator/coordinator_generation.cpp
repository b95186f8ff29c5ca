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

bool valid(const evolve::Outcome& outcome) {
    return outcome.status == evolve::Status::ok;
}

/// Index of the fittest valid outcome, the earlier of equals; nothing when none is valid.
std::optional<std::size_t> fittest(std::span<const evolve::Outcome> outcomes) {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
        if (valid(outcomes[i]) && (!best || outcomes[i].fitness > outcomes[*best].fitness)) {
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
    generation.number = strategy_->generation();
    generation.births = strategy_->ask(scheduler_.threads());
    if (!evaluate(generation)) {
        return false;
    }
    refuse_total_failure(generation);
    GenerationReport report = summarise(generation);
    if (!judge_champion(generation, report)) {
        return false;
    }
    strategy_->tell(generation.results.outcomes);
    parent_pool_.succeed(strategy_->parent_pool(), generation.births, generation.results);
    commit(std::move(generation), report);
    return true;
}

bool Coordinator::evaluate(Generation& generation) {
    std::vector<std::size_t> places;
    places.reserve(generation.births.size());
    for (std::size_t i = 0; i < generation.births.size(); ++i) {
        if (generation.births[i].recipe != evolve::Recipe::carry || reevaluate_) {
            places.push_back(i);
        }
    }
    if (places.size() < generation.births.size()) {
        return evaluate_some(generation, places);
    }
    auto results = scheduler_.evaluate(generation.number, generation.births, parent_pool_);
    if (results) {
        generation.results = std::move(*results);
    }
    return results.has_value();
}

bool Coordinator::evaluate_some(Generation& generation, std::span<const std::size_t> places) {
    std::vector<evolve::Birth> pending;
    pending.reserve(places.size());
    for (std::size_t place : places) {
        pending.push_back(generation.births[place]);
    }
    auto some = scheduler_.evaluate(generation.number, pending, parent_pool_);
    if (!some) {
        return false;
    }
    GenerationResults& all = generation.results = GenerationResults(generation.births.size());
    std::size_t next = 0;
    for (std::size_t i = 0; i < generation.births.size(); ++i) {
        if (next < places.size() && places[next] == i) {
            all.outcomes[i] = std::move(some->outcomes[next]);
            all.genomes[i] = std::move(some->genomes[next]);
            all.ranks[i] = some->ranks[next];
            ++next;
            continue;
        }
        const evolve::Birth& birth = generation.births[i];
        evolve::Outcome& outcome = all.outcomes[i];
        outcome = parent_pool_[birth.parents.front().member].outcome;
        outcome.id = birth.id;
        outcome.evaluations = 0;
        outcome.env_steps = 0;
        outcome.retries = 0;
    }
    return true;
}

void Coordinator::refuse_total_failure(const Generation& generation) const {
    const bool all_failed = std::all_of(
        generation.results.outcomes.begin(), generation.results.outcomes.end(),
        [](const evolve::Outcome& outcome) { return outcome.status == evolve::Status::failed; });
    if (all_failed) {
        throw Error(
            fmt::format("no individual of generation {} could be evaluated (the warnings "
                        "above say why) mend the task",
                        generation.number));
    }
}

SharedGenome Coordinator::genome_of(const Generation& generation, std::size_t index) {
    const GenerationResults& results = generation.results;
    return scheduler_.genome_maker().genome_of(generation.births[index], results.outcomes[index],
                                               results.genomes[index], results.ranks[index],
                                               *parent_pool_.genomes());
}

GenerationReport Coordinator::summarise(const Generation& generation) const {
    GenerationReport report;
    report.generation = generation.number;
    report.evaluations = last_ ? last_->evaluations : 0;
    report.env_steps = last_ ? last_->env_steps : 0;
    report.best = report.mean = report.worst = evolve::worst_fitness;
    double sum = 0.0;
    std::uint64_t count = 0;
    for (const evolve::Outcome& outcome : generation.results.outcomes) {
        report.evaluations += outcome.evaluations;
        report.env_steps += outcome.env_steps;
        report.retries += outcome.retries;
        if (!valid(outcome)) {
            ++report.invalid;
            continue;
        }
        report.worst = count == 0 ? outcome.fitness : std::min(report.worst, outcome.fitness);
        sum += outcome.fitness;
        ++count;
    }
    if (const auto best = fittest(generation.results.outcomes)) {
        report.best = generation.results.outcomes[*best].fitness;
        report.parameters = generation.results.outcomes[*best].parameters;
        report.mean = sum / static_cast<double>(count);
    }
    return report;
}

bool Coordinator::judge_initial(const Generation& generation) {
    const auto& initial = experiment_.variation.initial;
    const evolve::Outcome& outcome = generation.results.outcomes.front();
    if (!signature_.validates || !initial || !initial->keeps_weights || !valid(outcome)) {
        return true;
    }
    GenerationReport apart;
    const SharedGenome genome = genome_of(generation, 0);
    if (!validate(genome, apart)) {
        return false;
    }
    challenge({genome, generation.number, outcome.id, outcome.fitness, apart.validated});
    return true;
}

bool Coordinator::judge_champion(const Generation& generation, GenerationReport& report) {
    if (generation.number == 0 && !judge_initial(generation)) {
        return false;
    }
    const auto best = fittest(generation.results.outcomes);
    if (!best) {
        return true;
    }
    const evolve::Outcome& outcome = generation.results.outcomes[*best];
    const std::uint64_t every = experiment_.validation.every;
    const bool due = every > 0 && (generation.number + 1) % every == 0;
    const SharedGenome genome = genome_of(generation, *best);
    if (signature_.validates && due && !validate(genome, report)) {
        return false;
    }
    challenge({genome, generation.number, outcome.id, outcome.fitness, report.validated});
    return true;
}

bool Coordinator::validate(const SharedGenome& genome, GenerationReport& report) {
    const auto judged =
        scheduler_.evaluate_alone(genome, {evolve::Phase::validation, report.generation});
    if (!judged) {
        return false;
    }
    if (judged->failure) {
        std::rethrow_exception(judged->failure);
    }
    if (valid(judged->outcomes.front())) {
        report.validated = judged->outcomes.front().fitness;
    }
    return true;
}

void Coordinator::challenge(Champion challenger) {
    if (better(challenger, champion_)) {
        champion_ = std::move(challenger);
        champion_on_disk_ = false;
    }
}

bool Coordinator::judge_last() {
    if (!signature_.validates || !last_ || last_->validated || strategy_->parent_pool().empty()) {
        return true;
    }
    const evolve::Member& best = strategy_->parent_pool().front();
    const SharedGenome genome = parent_pool_.genomes()->front();
    if (!validate(genome, *last_)) {
        return false;
    }
    challenge({genome, last_->generation, best.birth, best.fitness, last_->validated});
    const bool news = !std::exchange(champion_on_disk_, true);
    write([this, news] {
        log_->amend(*last_);
        log_->sync();
        if (news) {
            write_best(champion_);
        }
    });
    drain();
    return true;
}

void Coordinator::commit(Generation&& generation, GenerationReport report) {
    report.seconds = std::chrono::duration<double>(Clock::now() - generation.begun).count();
    report.elapsed_seconds = elapsed();
    const std::vector<RankSeconds> ranks = scheduler_.take_seconds();
    for (const RankSeconds& rank : ranks) {
        const double share = 1.0 / static_cast<double>(ranks.size());
        report.evaluate_seconds += share * rank.cost.evaluate;
        report.vary_seconds += share * rank.cost.vary;
        report.wait_seconds += share * rank.cost.wait;
    }
    // With the generation go retired genomes, so that they are freed over there too.
    generation.retired = parent_pool_.take_retired();
    const auto done = std::make_shared<const Generation>(std::move(generation));
    write([this, done, report, ranks] {
        log_->append(report, done->births, done->results.outcomes, ranks);
    });
    last_ = report;
    reporter_.generation_done(report);
}

}  // namespace cambrian::distributed
