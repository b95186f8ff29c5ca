#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <map>
#include <utility>

#include "cambrian/distributed/coordinator/coordinator.hpp"
#include "cambrian/distributed/generation/blocks.hpp"
#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/strategy/regulation.hpp"

// One generation: births, outcomes, survivors, the champion, the line in the log.
namespace cambrian::distributed {

namespace {

/// In which a member was born: where members stay, another one than was told last.
std::uint64_t generation_of(const evolve::Member& member, const evolve::Strategy& newest,
                            std::uint64_t told) {
    return newest.members_stay() ? member.birth / newest.births() : told;
}

/// Where the fittest of a pool is, of equals the one born first; the end where nobody is there.
std::size_t fittest_place(std::span<const evolve::Member> pool) {
    return static_cast<std::size_t>(std::ranges::min_element(pool, evolve::fitter) - pool.begin());
}

/// Whether a validated network beats one that is not, else whether the compared value is higher.
bool better(const Champion& challenger, const Champion& champion) {
    if (challenger.validated.has_value() != champion.validated.has_value()) {
        return challenger.validated.has_value();
    }
    return challenger.validated ? *challenger.validated > *champion.validated
                                : challenger.fitness > champion.fitness;
}

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

Champion Coordinator::challenger_of(const Generation& generation, std::uint64_t position) {
    const evolve::Strategy& strategy = *generation.round->strategy;
    const evolve::Birth birth = strategy.birth(position);
    return {nullptr,
            strategy.generation(),
            birth.id,
            evolve::origin_of(strategy, birth),
            generation.results.scores.fitness[position],
            std::nullopt};
}

std::optional<Coordinator::Leader> Coordinator::leader_of(const Generation& generation) {
    std::optional<Leader> leader;
    if (const auto position = generation.fitness.fittest) {
        leader = {challenger_of(generation, *position), position};
    }
    const evolve::Strategy& newest = *scheduler_.follower().newest()->strategy;
    const std::span<const evolve::Member> pool = newest.parent_pool();
    if (!newest.members_stay() || pool.empty()) {
        return leader;
    }
    const std::size_t place = fittest_place(pool);
    const evolve::Member& best = pool[place];
    if (!leader || best.fitness >= leader->champion.fitness) {
        leader = {{nullptr, generation_of(best, newest, generation.round->generation()), best.birth,
                   best.origin, best.fitness, std::nullopt},
                  std::nullopt,
                  place};
    }
    return leader;
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
    if (experiment_.stop.solved && last_) {
        report.tests = {last_->tests.count, last_->tests.origin, false};
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

bool Coordinator::measure_fittest(const Generation& generation, const Leader& leader) {
    const evolve::BirthId origin = leader.champion.origin;
    if (fittest_parameters_ > 0 && origin == fittest_origin_) {
        return true;
    }
    const auto at = std::ranges::find_if(
        generation.results.bests,
        [&](const GenerationResults::Best& best) { return leader.position == best.position; });
    if (at != generation.results.bests.end()) {
        fittest_parameters_ = at->parameters;
        fittest_bytes_ = at->bytes;
        fittest_products_ = at->products;
    } else {
        const auto genome = genome_of(generation, leader);
        if (!genome) {
            return false;
        }
        const evolve::SharedStructure structure = network_of(**genome);
        fittest_parameters_ = static_cast<std::uint64_t>(structure->weight_count());
        fittest_bytes_ = static_cast<std::uint64_t>(structure->stored_bytes());
        fittest_products_ =
            prices_products(experiment_) ? static_cast<std::uint64_t>(structure->products()) : 0;
    }
    fittest_origin_ = origin;
    return true;
}

bool Coordinator::judge_initial(const Generation& generation) {
    const auto& initial = experiment_.variation.initial;
    if (!signature_.validates || !initial || !initial->keeps_weights ||
        !generation.results.scores.valid(0)) {
        return true;
    }
    GenerationReport apart;
    const Leader first{challenger_of(generation, 0), 0};
    const auto genome = grown(generation, first);
    return genome &&
           judge(*genome, first.champion.origin, evolve::Phase::validation, 0, apart.validated) &&
           challenge(generation, first, apart);
}

bool Coordinator::lives_on(const Leader& leader, Generation& generation) const {
    const evolve::Strategy& newest = *scheduler_.follower().newest()->strategy;
    if (newest.keeps_best()) {
        return true;
    }
    generation.next = newest.apply(generation.decision);
    const std::span<const evolve::Member> pool = generation.next->parent_pool();
    const std::size_t place = fittest_place(pool);
    // On another island it may live as another birth.
    return place < pool.size() && pool[place].origin == leader.champion.origin &&
           pool[place].fitness == leader.champion.fitness;
}

bool Coordinator::judge_champion(Generation& generation, GenerationReport& report) {
    if (report.generation == 0 && !judge_initial(generation)) {
        return false;
    }
    auto leader = leader_of(generation);
    if (!leader) {
        return true;
    }
    const std::uint64_t every = experiment_.validation.every;
    const bool scheduled = every > 0 && (report.generation + 1) % every == 0;
    // One that does not live on could be validated at no later time, and would lose to one that is.
    const bool due = signature_.validates && (scheduled || !lives_on(*leader, generation));
    if (!test_candidates(generation, *leader, report)) {
        return false;
    }
    if (due) {
        const auto genome = grown(generation, *leader);
        if (!genome || !judge(*genome, leader->champion.origin, evolve::Phase::validation,
                              report.generation, report.validated)) {
            return false;
        }
    }
    return challenge(generation, *leader, report);
}

std::optional<std::vector<std::optional<double>>> Coordinator::judge_all(
    std::vector<ReadyChild> networks, const evolve::EvaluationRound& round,
    std::uint64_t generation) {
    std::vector<std::optional<double>> fitness(networks.size());
    if (networks.empty()) {
        return fitness;
    }
    const auto judged = scheduler_.evaluate_alone(std::move(networks), round, generation);
    if (!judged) {
        return std::nullopt;
    }
    if (judged->failure) {
        std::rethrow_exception(judged->failure);
    }
    const evolve::Scores& scores = judged->scores.scores;
    for (std::size_t i = 0; i < fitness.size(); ++i) {
        if (scores.valid(i)) {
            fitness[i] = scores.fitness[i];
        }
    }
    return fitness;
}

bool Coordinator::judge(const SharedIndividual& genome, evolve::BirthId origin, evolve::Phase phase,
                        std::uint64_t generation, std::optional<double>& fitness) {
    const auto judged = judge_all({{genome, 0, origin}}, {phase, generation}, generation);
    if (judged && judged->front()) {
        fitness = judged->front();
    }
    return judged.has_value();
}

bool Coordinator::challenge(const Generation& generation, const Leader& leader,
                            const GenerationReport& report) {
    Champion challenger = leader.champion;
    challenger.validated = report.validated;
    if (!report.tests.passed && !outdoes_champion(challenger)) {
        return true;
    }
    const auto genome = grown(generation, leader);
    if (!genome) {
        return false;
    }
    challenger.genome = *genome;
    champion_ = std::move(challenger);
    champion_on_disk_ = false;
    return true;
}

bool Coordinator::outdoes_champion(const Champion& challenger) const {
    return !champion_ ||
           experiment_.task_number(challenger.generation) !=
               experiment_.task_number(champion_->generation) ||
           better(challenger, *champion_);
}

const Champion* Coordinator::present_champion() const {
    const bool present = champion_ && last_ &&
                         experiment_.task_number(champion_->generation) ==
                             experiment_.task_number(last_->generation);
    return present ? &*champion_ : nullptr;
}

std::optional<SharedIndividual> Coordinator::grown(const Generation& generation,
                                                   const Leader& leader) {
    const auto genome = genome_of(generation, leader);
    const auto here = genome ? scheduler_.on_host(*genome) : std::nullopt;
    return here ? std::optional(
                      scheduler_.grown(*here, leader.champion.origin, leader.champion.generation))
                : std::nullopt;
}

std::optional<Champion> Coordinator::member_at(std::size_t place) {
    Follower& follower = scheduler_.follower();
    const evolve::Strategy& newest = *follower.newest()->strategy;
    const evolve::Member& best = newest.parent_pool()[place];
    const auto genome = scheduler_.on_host(follower.parents(*follower.newest())->at(place));
    if (!genome) {
        return std::nullopt;
    }
    const std::uint64_t born = generation_of(best, newest, last_->generation);
    return Champion{scheduler_.grown(*genome, best.origin, born),
                    born,
                    best.birth,
                    best.origin,
                    best.fitness,
                    std::nullopt};
}

bool Coordinator::judge_last() {
    if (!signature_.validates || !last_ || last_->validated) {
        return true;
    }
    const bool passed = last_->tests.passed;
    const std::span<const evolve::Member> pool =
        scheduler_.follower().newest()->strategy->parent_pool();
    const std::size_t place = fittest_place(pool);
    // A best that does not live on was judged with its generation.
    if (!passed && (place == pool.size() || pool[place].fitness != last_->best)) {
        return true;
    }
    const std::optional<Champion> judged = passed ? champion_ : member_at(place);
    if (!judged) {
        return false;
    }
    Champion challenger = *judged;
    if (!judge(challenger.genome, challenger.origin, evolve::Phase::validation, last_->generation,
               last_->validated)) {
        return false;
    }
    challenger.validated = last_->validated;
    if (passed || outdoes_champion(challenger)) {
        champion_ = std::move(challenger);
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
