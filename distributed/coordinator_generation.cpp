#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "cambrian/distributed/coordinator.hpp"
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
    generation.births = strategy_->ask();
    if (!evaluate(generation)) {
        return false;
    }
    refuse_total_failure(generation);
    GenerationReport report = summarise(generation);
    if (!judge_champion(generation, report)) {
        return false;
    }
    strategy_->tell(generation.outcomes);
    adopt_survivors(generation);
    strategy_state_ = strategy_->save();
    commit(std::move(generation), report);
    return true;
}

bool Coordinator::evaluate(Generation& generation) {
    const std::size_t count = generation.births.size();
    generation.outcomes.resize(count);
    generation.genomes.resize(count);
    generation.ranks.resize(count);
    std::vector<evolve::Birth> pending;
    std::vector<std::size_t> places;
    pending.reserve(count);
    places.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        const evolve::Birth& birth = generation.births[i];
        if (birth.recipe != evolve::Recipe::carry || reevaluate_) {
            pending.push_back(birth);
            places.push_back(i);
            continue;
        }
        evolve::Outcome& outcome = generation.outcomes[i];
        outcome = outcome_of(birth.parents.front().birth);
        outcome.id = birth.id;
        outcome.evaluations = 0;
        outcome.env_steps = 0;
        outcome.redrawn = 0;
    }
    auto deliveries = dispatcher_.evaluate(generation.number, pending, store_);
    if (!deliveries) {
        return false;
    }
    for (std::size_t i = 0; i < places.size(); ++i) {
        Delivery& delivery = (*deliveries)[i];
        generation.outcomes[places[i]] = std::move(delivery.outcome);
        generation.genomes[places[i]] = std::move(delivery.genome);
        generation.ranks[places[i]] = delivery.rank;
    }
    return true;
}

void Coordinator::refuse_total_failure(const Generation& generation) const {
    const bool all_failed = std::all_of(
        generation.outcomes.begin(), generation.outcomes.end(),
        [](const evolve::Outcome& outcome) { return outcome.status == evolve::Status::failed; });
    if (all_failed) {
        throw Error(
            fmt::format("no individual of generation {} could be evaluated (the warnings "
                        "above say why) mend the task",
                        generation.number));
    }
}

const evolve::Outcome* Coordinator::find(std::span<const evolve::Outcome> outcomes,
                                         evolve::BirthId birth) {
    const auto at = std::lower_bound(
        outcomes.begin(), outcomes.end(), birth,
        [](const evolve::Outcome& outcome, evolve::BirthId id) { return outcome.id < id; });
    return at == outcomes.end() || at->id != birth ? nullptr : &*at;
}

void Coordinator::sort_by_id(std::vector<evolve::Outcome>& outcomes) {
    std::sort(outcomes.begin(), outcomes.end(),
              [](const evolve::Outcome& a, const evolve::Outcome& b) { return a.id < b.id; });
}

const evolve::Outcome& Coordinator::outcome_of(evolve::BirthId birth) const {
    const evolve::Outcome* outcome = find(living_, birth);
    CAMBRIAN_ASSERT(outcome != nullptr);
    return *outcome;
}

SharedGenome Coordinator::genome_of(const Generation& generation, std::size_t index) const {
    const evolve::Outcome& outcome = generation.outcomes[index];
    if (SharedGenome known = store_.find(outcome.genome)) {
        return known;
    }
    SharedGenome genome = generation.genomes[index];
    if (!genome) {
        std::vector<const evolve::Genome*> parents;
        for (const evolve::Parent& parent : generation.births[index].parents) {
            parents.push_back(store_.find(parent.genome).get());
            CAMBRIAN_ASSERT(parents.back() != nullptr);
        }
        genome = std::make_shared<const evolve::Genome>(
            variation_.materialise(generation.births[index], parents).genome);
    }
    const int rank = generation.ranks[index];
    if (rank != 0 && evolve::content_hash(*genome) != outcome.genome) {
        throw Error(
            fmt::format("rank {} made another child of birth {} than rank 0 (its build or "
                        "its memory differs) run without that host",
                        rank, outcome.id));
    }
    return genome;
}

void Coordinator::adopt_survivors(const Generation& generation) {
    const std::span<const evolve::Member> members = strategy_->living();
    std::vector<evolve::Outcome> living;
    std::vector<std::size_t> born;  ///< In this generation.
    std::vector<Hash128> hashes;
    living.reserve(members.size());
    born.reserve(members.size());
    hashes.reserve(members.size());
    for (const evolve::Member& member : members) {
        if (const evolve::Outcome* outcome = find(generation.outcomes, member.birth)) {
            living.push_back(*outcome);
            born.push_back(static_cast<std::size_t>(outcome - generation.outcomes.data()));
        } else {
            living.push_back(outcome_of(member.birth));
        }
        hashes.push_back(member.genome);
    }
    std::vector<SharedGenome> genomes(born.size());
    pool_.for_each(static_cast<std::int64_t>(born.size()), [&](std::int64_t i, int) {
        const auto index = static_cast<std::size_t>(i);
        genomes[index] = genome_of(generation, born[index]);
    });
    for (std::size_t i = 0; i < born.size(); ++i) {
        store_.add(generation.outcomes[born[i]].genome, std::move(genomes[i]));
    }
    store_.keep_only(hashes);
    sort_by_id(living);
    living_ = std::move(living);
}

GenerationReport Coordinator::summarise(const Generation& generation) const {
    GenerationReport report;
    report.generation = generation.number;
    report.evaluations = last_ ? last_->evaluations : 0;
    report.env_steps = last_ ? last_->env_steps : 0;
    report.best = report.mean = report.worst = evolve::worst_fitness;
    double sum = 0.0;
    std::uint64_t count = 0;
    for (const evolve::Outcome& outcome : generation.outcomes) {
        report.evaluations += outcome.evaluations;
        report.env_steps += outcome.env_steps;
        report.redrawn += outcome.redrawn;
        if (!valid(outcome)) {
            ++report.invalid;
            continue;
        }
        report.worst = count == 0 ? outcome.fitness : std::min(report.worst, outcome.fitness);
        sum += outcome.fitness;
        ++count;
    }
    if (const auto best = fittest(generation.outcomes)) {
        report.best = generation.outcomes[*best].fitness;
        report.parameters = generation.outcomes[*best].parameters;
        report.mean = sum / static_cast<double>(count);
    }
    return report;
}

bool Coordinator::judge_champion(const Generation& generation, GenerationReport& report) {
    const auto best = fittest(generation.outcomes);
    if (!best) {
        return true;
    }
    const evolve::Outcome& outcome = generation.outcomes[*best];
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
        dispatcher_.evaluate_alone(genome, {evolve::Phase::validation, report.generation});
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
    if (!signature_.validates || !last_ || last_->validated || strategy_->living().empty()) {
        return true;
    }
    const evolve::Member& best = strategy_->living().front();
    const SharedGenome genome = store_.find(best.genome);
    if (!validate(genome, *last_)) {
        return false;
    }
    challenge({genome, last_->generation, best.birth, best.fitness, last_->validated});
    log_->amend(*last_);
    log_->sync();
    if (!std::exchange(champion_on_disk_, true)) {
        write_best(champion_);
    }
    return true;
}

void Coordinator::commit(Generation&& generation, GenerationReport report) {
    report.seconds = std::chrono::duration<double>(Clock::now() - generation.begun).count();
    report.elapsed_seconds = elapsed();
    const std::vector<RankSeconds> ranks = dispatcher_.take_seconds();
    for (const RankSeconds& rank : ranks) {
        const double share = 1.0 / static_cast<double>(ranks.size());
        report.evaluate_seconds += share * rank.cost.evaluate;
        report.vary_seconds += share * rank.cost.vary;
        report.wait_seconds += share * rank.cost.wait;
    }
    // With the generation go its dead, so that they are freed over there too.
    const auto done = std::make_shared<const Generation>(std::move(generation));
    writer_.submit(
        [this, done, report, ranks] { log_->append(report, done->births, done->outcomes, ranks); });
    last_ = report;
    reporter_.generation_done(report);
}

}  // namespace cambrian::distributed
