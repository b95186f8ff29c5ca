#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <string_view>

#include "cambrian/distributed/coordinator/scheduler.hpp"
#include "cambrian/distributed/generation/blocks.hpp"
#include "cambrian/engine/core/error.hpp"

// What shards come to: scores that are checked, and births that could not be evaluated.
namespace cambrian::distributed {

void Scheduler::check_scores(int rank, const Progress& progress, const Shard& shard,
                             const ShardScores& scores) const {
    const auto refuse = [&](std::string_view why) {
        throw InputError(
            fmt::format("the scores of shard {} from rank {} are refused ({}) check "
                        "that every rank runs the same program",
                        shard.id, rank, why));
    };
    const std::size_t births = shard.items.size();
    if (progress.leases.holder(shard.id) != rank || scores.scores.fitness.size() != births ||
        scores.scores.status.size() != births) {
        refuse("the rank was given another shard");
    }
    const Round& round = *progress.round;
    const std::vector<std::uint32_t>& species = scores.scores.species;
    if (species.size() != (round.kinship.empty() ? 0 : births)) {
        refuse("they tell of species as the strategy does not");
    }
    if (scores.scores.complexity.size() != (round.regulated ? births : 0)) {
        refuse("they tell of complexity as the strategy does not ask");
    }
    for (std::size_t i = 0; i < species.size(); ++i) {
        const std::uint32_t position = round.order[shard.items.begin + i];
        const evolve::Kinship& kinship = round.kinship[kinship_at(round, position)];
        if (species[i] != evolve::unmatched && species[i] >= kinship.representatives.size()) {
            refuse("a birth is of a species that is not there");
        }
    }
    const bool details = experiment_.log.individuals != LoggedIndividuals::none;
    for (const std::size_t column :
         {scores.details.env_steps.size(), scores.details.parameters.size(),
          scores.details.retries.size()}) {
        if (column != (details ? births : 0)) {
            refuse("its columns differ in length");
        }
    }
    std::atomic<bool> contradicts = false;
    for_each_index(threads_, births, block_of_births, [&](std::size_t i) {
        const double fitness = scores.scores.fitness[i];
        if (scores.scores.valid(i) ? !std::isfinite(fitness) : fitness != evolve::worst_fitness) {
            contradicts.store(true, std::memory_order_relaxed);
        }
    });
    if (contradicts) {
        refuse("a fitness contradicts its status");
    }
}

void Scheduler::hear_of(Progress& round, int rank, std::uint64_t shard) {
    const auto given = round.unasked.find(rank);
    if (given != round.unasked.end() && given->second.shard == shard) {
        round.unasked.erase(given);
    }
}

bool Scheduler::deliver(int rank, std::uint64_t shard, const ShardScores& scores) {
    Progress* progress = progress_of(shard);
    const Shard* issued = progress != nullptr ? progress->leases.find(shard) : nullptr;
    if (issued == nullptr) {
        return false;  // Of a generation that others have finished.
    }
    hear_of(*progress, rank, shard);
    check_scores(rank, *progress, *issued, scores);
    if (!progress->leases.accept(shard)) {
        return false;
    }
    std::fill_n(progress->ranks.begin() + static_cast<std::ptrdiff_t>(issued->items.begin),
                issued->items.size(), static_cast<std::uint32_t>(rank));
    note_scores(*progress, issued->items, scores);
    return true;
}

void Scheduler::note_scores(Progress& progress, OrderRange items, const ShardScores& shard) const {
    const Round& round = *progress.round;
    GenerationResults& results = progress.results;
    results.env_steps += shard.env_steps;
    results.retries += shard.retries;
    const bool details = !shard.details.parameters.empty();
    if (details && results.details.parameters.empty()) {
        results.details.env_steps.resize(results.scores.size());
        results.details.parameters.resize(results.scores.size());
        results.details.retries.resize(results.scores.size());
    }
    const auto note = [&](std::size_t i, FittestBirth& best) {
        const std::uint32_t position = round.order[items.begin + i];
        results.scores.fitness[position] = shard.scores.fitness[i];
        results.scores.status[position] = shard.scores.status[i];
        if (!shard.scores.species.empty()) {
            results.scores.species[position] = shard.scores.species[i];
        }
        if (!shard.scores.complexity.empty()) {
            results.scores.complexity[position] = shard.scores.complexity[i];
        }
        if (details) {
            results.details.env_steps[position] = shard.details.env_steps[i];
            results.details.parameters[position] = shard.details.parameters[i];
            results.details.retries[position] = shard.details.retries[i];
        }
        if (shard.scores.valid(i)) {
            best.add({i, position, shard.scores.fitness[i]});
        }
    };
    const auto best = sum_over<FittestBirth>(threads_, items.size(), block_of_births, note);
    if (best.index) {
        results.bests.push_back({static_cast<std::uint32_t>(best.position),
                                 shard.parameters_of_best, shard.bytes_of_best,
                                 shard.products_of_best});
    }
}

void Scheduler::warn_of_failure(Progress& progress, std::uint32_t position,
                                const std::string& text) {
    // A cause that all share would fill the console; generations.csv counts them.
    constexpr std::uint64_t max_warnings = 3;
    const Round& round = *progress.round;
    ++progress.failures;
    if (progress.failures <= max_warnings) {
        reporter_.warning(fmt::format(
            "birth {} of generation {} cannot be evaluated ({}) it gets the worst fitness",
            round.strategy->first_birth() + position, round.generation(), text));
    } else if (progress.failures == max_warnings + 1) {
        reporter_.warning(fmt::format(
            "more births of generation {} cannot be evaluated (after {} they are only counted) see "
            "the column invalid of generations.csv",
            round.generation(), max_warnings));
    }
}

void Scheduler::fail_shard(int rank, std::uint64_t shard, const std::string& text) {
    Progress* progress = progress_of(shard);
    const Shard* issued = progress != nullptr ? progress->leases.find(shard) : nullptr;
    if (issued == nullptr || progress->leases.holder(shard) != rank) {
        return;
    }
    hear_of(*progress, rank, shard);
    consider_all();
    // The scores of what failed twice are the worst already, with which all begin.
    for (std::size_t item : progress->leases.fail(shard)) {
        progress->ranks[item] = static_cast<std::uint32_t>(rank);
        warn_of_failure(*progress, progress->round->order[item], text);
    }
}

}  // namespace cambrian::distributed
