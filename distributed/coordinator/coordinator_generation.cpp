#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <map>
#include <utility>

#include "cambrian/distributed/coordinator/coordinator.hpp"
#include "cambrian/distributed/generation/blocks.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/strategy/regulation.hpp"

// One generation: births, outcomes, survivors, the line in the log.
namespace cambrian::distributed {

namespace {

constexpr evolve::BirthId no_birth = std::numeric_limits<evolve::BirthId>::max();

SpeciesDiversity diversity_of(const Round& round, const evolve::Scores& scores) {
    const std::vector<std::uint64_t> ids = round.strategy->species_of(scores);
    SpeciesDiversity diversity;
    double all = 0.0;
    double squares = 0.0;
    for (const evolve::Kinship& kinship : round.kinship) {
        std::map<std::uint64_t, double> sizes;
        for (std::uint64_t position = kinship.begin; position < kinship.end; ++position) {
            if (ids[position] > 0) {
                sizes[ids[position]] += 1.0;
            }
        }
        for (const auto& [id, size] : sizes) {
            all += size;
            squares += size * size;
        }
        diversity.count += sizes.size();
    }
    diversity.effective = squares > 0.0 ? all * all / squares : 0.0;
    return diversity;
}

}  // namespace

bool Coordinator::advance() {
    Generation generation;
    generation.begun = Clock::now();
    generation.round = scheduler_.follower().round();
    if (!evaluate(generation)) {
        return false;
    }
    std::optional<GenerationReport> summary = summarise(generation);
    if (!summary) {
        return false;
    }
    GenerationReport& report = *summary;
    report.failed_in_a_row = count_failures(generation);
    const Clock::duration before = Clock::worked();
    generation.decision = scheduler_.follower().newest()->strategy->decide(
        generation.results.scores, scheduler_.threads());
    report.decide_seconds = seconds_of(Clock::worked() - before);
    if (!judge_champion(generation, report)) {
        return false;
    }
    commit(std::move(generation), report);
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
    const evolve::Scores& scores = generation.results.scores;
    generation.fitness = evolve::fitness_range(scores, 0, scores.size());
    return found_species(generation);
}

bool Coordinator::found_species(Generation& generation) {
    const Round& round = *generation.round;
    evolve::Scores& scores = generation.results.scores;
    for (const evolve::Kinship& kinship : round.kinship) {
        std::vector<std::uint64_t> positions;
        for (std::uint64_t position = kinship.begin; position < kinship.end; ++position) {
            if (scores.valid(position) && scores.species[position] == evolve::unmatched &&
                !round.strategy->carries(position)) {
                positions.push_back(position);
            }
        }
        const auto genomes = scheduler_.genomes_of(positions, generation.evaluators);
        if (!genomes) {
            return false;
        }
        std::vector<const evolve::Individual*> founders;
        for (const SharedIndividual& genome : *genomes) {
            founders.push_back(genome.get());
        }
        const std::vector<std::uint32_t> species = evolve::found_species(kinship, founders);
        for (std::size_t i = 0; i < positions.size(); ++i) {
            scores.species[positions[i]] = species[i];
        }
    }
    return true;
}

void Coordinator::score_carried(Generation& generation) const {
    const evolve::Strategy& strategy = *generation.round->strategy;
    evolve::Scores& scores = generation.results.scores;
    for_each_index(scheduler_.threads(), scores.size(), block_of_births, [&](std::size_t position) {
        if (generation.evaluators[position] == nobody) {
            scores.fitness[position] = strategy.birth(position).parents.front().fitness;
            scores.status[position] = evolve::Status::ok;
        }
    });
}

std::uint64_t Coordinator::count_failures(const Generation& generation) const {
    const std::vector<evolve::Status>& status = generation.results.scores.status;
    const bool all_failed = std::ranges::all_of(
        status, [](evolve::Status one) { return one == evolve::Status::failed; });
    if (!all_failed) {
        return 0;
    }
    const std::uint64_t failed = (last_ ? last_->failed_in_a_row : 0) + status.size();
    // A block may be one birth: it says no more of the task than one failure in a generation.
    if (failed >= experiment_.population.size) {
        throw Error(
            fmt::format("none of the last {} births, up to generation {}, could be evaluated (the "
                        "warnings above say why) mend the task",
                        failed, generation.round->generation()));
    }
    return failed;
}

std::optional<SharedIndividual> Coordinator::genome_of(const Generation& generation,
                                                       std::uint64_t position) {
    return scheduler_.genome_of(position, generation.evaluators[position]);
}

std::optional<SharedIndividual> Coordinator::genome_of(const Generation& generation,
                                                       const Leader& leader) {
    return leader.position ? genome_of(generation, *leader.position)
                           : scheduler_.member_genome(leader.place);
}

std::optional<GenerationReport> Coordinator::summarise(const Generation& generation) {
    const GenerationResults& results = generation.results;
    GenerationReport report;
    report.generation = generation.round->generation();
    report.evaluations = (last_ ? last_->evaluations : 0) + generation.round->order.size();
    report.env_steps = (last_ ? last_->env_steps : 0) + results.env_steps;
    report.retries = results.retries;
    if (!experiment_.changes.empty()) {
        report.task = experiment_.task_number(report.generation);
    }
    if (last_) {
        const ChampionTests& tests = last_->tests;
        // Who passed is tested again where a run that went on asks once more.
        report.tests = {tests.count, tests.passed ? no_birth : tests.origin, false};
    }
    report.best = generation.fitness.best;
    report.mean = generation.fitness.mean;
    report.worst = generation.fitness.worst;
    report.invalid = generation.fitness.invalid;
    if (!generation.round->kinship.empty()) {
        report.species = diversity_of(*generation.round, results.scores);
    }
    if (generation.round->regulated) {
        const evolve::Strategy& strategy = *generation.round->strategy;
        report.complexity = {evolve::mean_complexity(strategy, results.scores).mean(),
                             strategy.simplifying()};
    }
    const auto leader = leader_of(generation);
    if (leader) {
        if (!measure_fittest(generation, *leader)) {
            return std::nullopt;
        }
        report.best = leader->champion.fitness;
        report.parameters = fittest_parameters_;
    }
    // The line has all its columns where nobody has a fitness, too.
    if (uses_formats(experiment_)) {
        report.bytes = leader ? fittest_bytes_ : 0;
    }
    if (prices_products(experiment_)) {
        report.products = leader ? fittest_products_ : 0;
    }
    return report;
}

evolve::SharedStructure Coordinator::network_of(const evolve::Individual& genome) const {
    const evolve::Variation& variation = scheduler_.variation();
    return variation.develops() ? variation.develop(genome).structure : genome.structure;
}

void Coordinator::commit(Generation&& generation, GenerationReport report) {
    // What the journal of a new run follows: nothing is kept of one that never came so far.
    std::shared_ptr<Checkpoint> start;
    if (!std::exchange(begun_, true)) {
        start = std::make_shared<Checkpoint>(state_of(*scheduler_.follower().newest()->strategy));
        start->champion.reset();
    }
    Record record{report.generation, std::move(generation.decision), generation.results.holders};
    JournalEntry entry;
    entry.generation = record.generation;
    entry.digest = scheduler_.follower().newest()->digest;
    entry.decision = record.decision;
    scheduler_.follow(std::move(record), std::move(generation.next),
                      !reached(report) && interrupt_.load() == 0);
    ancestry_.add(scheduler_.follower().newest()->strategy);
    report.seconds = seconds_since(generation.begun);
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
        GenerationColumns{std::move(generation.round), scheduler_.follower().newest(),
                          std::move(generation.results.scores),
                          std::move(generation.results.details), std::move(generation.evaluators),
                          champion_ ? std::optional(champion_->birth) : std::nullopt});
    write([this, columns, entry = std::move(entry), ranks, start]() mutable {
        reign_watch_->check();
        if (start) {
            start->logs = log_->lengths();
            start->checksums = log_->checksums();
            directory_->save(*start);
        }
        const std::uint64_t individuals_before = log_->lengths()[GenerationLog::individuals_at];
        log_->append(entry.report, *columns, ranks);
        entry.logs = log_->lengths();
        entry.checksums = log_->checksums();
        written_.journal_bytes += journal_->append(entry);
        written_.individuals_bytes +=
            entry.logs[GenerationLog::individuals_at] - individuals_before;
        ++written_.generations;
    });
    last_ = report;
    reporter_.generation_done(report);
}

}  // namespace cambrian::distributed
