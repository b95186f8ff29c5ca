#include <algorithm>
#include <utility>

#include "cambrian/distributed/coordinator/coordinator.hpp"
#include "cambrian/evolve/runs/worth.hpp"
#include "cambrian/evolve/strategy/strategy.hpp"

// The fittest of a generation: what it is worth in validation, and whether it becomes the champion.
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

Worth worth_of(const Champion& champion) {
    return {champion.fitness, champion.validated};
}

}  // namespace

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
    generation.next = evolve::state_after(newest, generation.decision);
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
           better(worth_of(challenger), worth_of(*champion_));
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

}  // namespace cambrian::distributed
