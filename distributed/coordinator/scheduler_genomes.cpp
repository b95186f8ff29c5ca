#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

#include "cambrian/distributed/coordinator/scheduler.hpp"
#include "cambrian/distributed/generation/blocks.hpp"

// The genomes that the coordinator needs: parents of shards, members, champions.
namespace cambrian::distributed {

namespace {

/// How long another rank may take to hand over genomes, as a share of a lease.
constexpr double fetching_share = 0.25;
constexpr std::chrono::microseconds fetching_patience{200};

}  // namespace

bool Scheduler::bring_parents(const Assignment& given) {
    const OrderRange births = given.shard.items;
    const Round& round = *given.progress.round;
    MissingParents missing =
        follower_.missing_parents(round, births, evolve::Parents::max_count * births.size());
    std::vector<Remakes::Recipe>& recipes = missing.remakes.recipes;
    seconds_[static_cast<std::size_t>(own_rank_)].remade += missing.remade + recipes.size();
    if (!recipes.empty() && compute_) {
        compute_->remake(follower_, given.progress.round, std::move(missing.remakes));
    } else if (!recipes.empty()) {
        const std::vector<SharedIndividual> made =
            shard_evaluator_.remake(given.progress.round, missing.remakes);
        for (std::size_t i = 0; i < made.size(); ++i) {
            follower_.fill(round, recipes[i].place, made[i]);
        }
    }
    return bring(round, missing.places);
}

bool Scheduler::gather_parents() {
    for (std::size_t ahead = 0; ahead < follower_.open(); ++ahead) {
        const SharedRound round = follower_.round(follower_.round()->generation() + ahead);
        const std::shared_ptr<const PoolGenomes> parents = follower_.parents(*round);
        std::vector<std::uint32_t> missing;
        for (std::uint32_t place = 0; place < parents->size(); ++place) {
            if ((*parents)[place]) {
                continue;
            }
            const evolve::BirthId origin = round->strategy->parent_pool()[place].origin;
            if (SharedIndividual here = follower_.find(origin)) {
                follower_.fill(*round, place, std::move(here));
            } else {
                missing.push_back(place);
            }
        }
        if (!bring(*round, missing)) {
            return false;
        }
    }
    return true;
}

bool Scheduler::bring(const Round& round, std::span<const std::uint32_t> places) {
    std::vector<evolve::BirthId> origins;
    std::vector<std::uint32_t> holders;
    for (const std::uint32_t place : places) {
        origins.push_back(round.strategy->parent_pool()[place].origin);
        holders.push_back(round.holders[place]);
    }
    Ancestry::Genomes genomes;
    if (!fetch(origins, holders, genomes)) {
        return false;
    }
    for (std::size_t i = 0; i < places.size(); ++i) {
        follower_.fill(round, places[i], genomes.at(origins[i]));
    }
    return true;
}

std::optional<SharedIndividual> Scheduler::genome_of(std::uint64_t position,
                                                     std::uint32_t evaluator) {
    if (SharedIndividual made = follower_.child(position)) {
        return made;
    }
    const Round& round = *follower_.round();
    const evolve::Birth birth = round.strategy->birth(position);
    if (birth.recipe != evolve::Recipe::carry) {
        return fetch_one(birth.id, evaluator);
    }
    const std::size_t place = index_of(birth.parents.front().place);
    if (const SharedIndividual& parent = (*follower_.parents(round))[place]) {
        return parent;
    }
    return fetch_one(round.strategy->parent_pool()[place].origin, round.holders[place]);
}

std::optional<std::vector<SharedIndividual>> Scheduler::genomes_of(
    std::span<const std::uint64_t> positions, std::span<const std::uint32_t> evaluators) {
    const Round& round = *follower_.round();
    const PoolGenomes& parents = *follower_.parents(round);
    std::vector<SharedIndividual> genomes(positions.size());
    for_each_index(threads_, positions.size(), block_of_genomes, [&](std::size_t i) {
        genomes[i] = follower_.child(positions[i]);
        const evolve::Birth birth = round.strategy->birth(positions[i]);
        const bool parents_here =
            std::ranges::all_of(birth.parents, [&](const evolve::Parent& parent) {
                return parents[index_of(parent.place)] != nullptr;
            });
        // What was learned lies where it was learned.
        if (!genomes[i] && parents_here && !inherits_learning(experiment_)) {
            genomes[i] = make_child(variation(), birth, parents, genome_memory()).genome;
        }
    });
    std::vector<evolve::BirthId> origins;
    std::vector<std::uint32_t> holders;
    for (std::size_t i = 0; i < positions.size(); ++i) {
        if (!genomes[i]) {
            origins.push_back(round.strategy->first_birth() + positions[i]);
            holders.push_back(evaluators[positions[i]]);
        }
    }
    Ancestry::Genomes fetched;
    if (!fetch(origins, holders, fetched)) {
        return std::nullopt;
    }
    for (std::size_t i = 0; i < positions.size(); ++i) {
        if (!genomes[i]) {
            genomes[i] = fetched.at(round.strategy->first_birth() + positions[i]);
        }
    }
    return genomes;
}

std::optional<SharedIndividual> Scheduler::member_genome(std::size_t place) {
    const Round& round = *follower_.newest();
    const evolve::BirthId origin = round.strategy->parent_pool()[place].origin;
    if (SharedIndividual here = follower_.find(origin)) {
        return here;
    }
    return fetch_one(origin, round.holders[place]);
}

std::optional<SharedIndividual> Scheduler::fetch_one(evolve::BirthId origin, std::uint32_t holder) {
    Ancestry::Genomes genomes;
    if (!fetch(std::span(&origin, 1), std::span(&holder, 1), genomes)) {
        return std::nullopt;
    }
    return genomes.at(origin);
}

bool Scheduler::gives_up(Clock::time_point start) const {
    constexpr double moment = 2.0;
    return interrupted() && seconds_since(start) > moment;
}

void Scheduler::forget_given(std::map<int, GenomeRequest>& owed) const {
    for (auto& [rank, request] : owed) {
        std::erase_if(request.origins, [this](evolve::BirthId origin) {
            const auto at = fetched_.find(origin);
            return at == fetched_.end() || at->second;
        });
    }
    std::erase_if(owed, [this](const auto& entry) {
        const Peer& holder = peers_[static_cast<std::size_t>(entry.first)];
        return entry.second.origins.empty() || !serving(holder);
    });
}

bool Scheduler::waits_for_genomes(const std::map<int, GenomeRequest>& owed,
                                  Clock::time_point last) const {
    // To learn once more takes longer than any answer of a rank that lives.
    const bool patient =
        inherits_learning(experiment_) && std::ranges::any_of(owed, [this](const auto& entry) {
            return heard_lately(peers_[static_cast<std::size_t>(entry.first)]);
        });
    const double waited = seconds_since(last) / experiment_.distribution.lease_seconds;
    return !owed.empty() && waited < (patient ? 1.0 : fetching_share);
}

bool Scheduler::fetch(std::span<const evolve::BirthId> origins,
                      std::span<const std::uint32_t> holders, Ancestry::Genomes& genomes) {
    std::map<int, GenomeRequest> owed;
    fetched_.clear();
    for (std::size_t i = 0; i < origins.size(); ++i) {
        const int holder = static_cast<int>(holders[i]);
        if (holder != own_rank_ && serving(peer(holder))) {
            owed[holder].origins.push_back(origins[i]);
            fetched_.emplace(origins[i], nullptr);
        }
    }
    for (const auto& [rank, request] : owed) {
        send(communicator_, rank, request);
    }
    const Clock::time_point start = Clock::now();
    Clock::time_point last = start;  // That one came.
    while (waits_for_genomes(owed, last)) {
        if (gives_up(start)) {
            return false;
        }
        const std::uint64_t before = seconds_[static_cast<std::size_t>(own_rank_)].fetched;
        serve(fetching_patience);
        if (seconds_[static_cast<std::size_t>(own_rank_)].fetched > before) {
            last = Clock::now();
        }
        forget_given(owed);
    }
    genomes = std::exchange(fetched_, {});
    std::erase_if(genomes, [](const auto& entry) { return !entry.second; });
    std::vector<evolve::BirthId> lost;
    std::ranges::copy_if(origins, std::back_inserter(lost),
                         [&](evolve::BirthId origin) { return !genomes.contains(origin); });
    genomes.merge(make_again(ancestry_, lost));
    return true;
}

std::optional<std::vector<SharedIndividual>> Scheduler::on_host(
    std::vector<SharedIndividual> genomes) {
    if (!compute_) {
        for (SharedIndividual& genome : genomes) {
            genome = shard_evaluator_.on_host(genome);
        }
        return genomes;
    }
    const auto arrived = std::make_shared<std::optional<std::vector<SharedIndividual>>>();
    compute_->bring_to_host(std::move(genomes), [arrived](std::vector<SharedIndividual> all) {
        *arrived = std::move(all);
    });
    const Clock::time_point start = Clock::now();
    while (!*arrived && !gives_up(start)) {
        serve(ComputeThread::look_every);
    }
    return *arrived;
}

void Scheduler::teach(std::vector<SharedIndividual>& genomes, std::uint64_t generation) {
    if (!compute_) {
        shard_evaluator_.teach(genomes, generation);
        return;
    }
    const auto learned = std::make_shared<std::optional<std::vector<SharedIndividual>>>();
    compute_->change(
        std::move(genomes),
        [this, generation](std::vector<SharedIndividual>& all) {
            shard_evaluator_.teach(all, generation);
        },
        [learned](std::vector<SharedIndividual> all) { *learned = std::move(all); });
    while (!*learned) {
        serve(ComputeThread::look_every);
    }
    genomes = *std::move(*learned);
}

std::uint64_t Scheduler::evaluated(evolve::BirthId origin, std::uint64_t generation) const {
    if (experiment_.reevaluates()) {
        return generation;
    }
    // When it was born, or at the first generation of its task.
    const std::uint64_t born = origin / follower_.newest()->strategy->births();
    const std::size_t task = experiment_.task_number(generation);
    return task == 0 ? born : std::max(born, experiment_.changes[task - 1].at);
}

SharedIndividual Scheduler::grown(SharedIndividual genome, evolve::BirthId origin,
                                  std::uint64_t generation) {
    std::vector<SharedIndividual> one{std::move(genome)};
    if (experiment_.learning.mode == evolve::LearningMode::baldwinian) {
        teach(one, evaluated(origin, generation));
    }
    return std::move(one.front());
}

Ancestry::Genomes Scheduler::make_again(const Ancestry& ancestry,
                                        std::span<const evolve::BirthId> origins) {
    const bool inherited = inherits_learning(experiment_);
    return ancestry.make(origins, variation(), genome_memory(), threads_,
                         inherited
                             ? [this](std::vector<SharedIndividual>& children,
                                      std::uint64_t generation) { teach(children, generation); }
                             : Ancestry::Teach());
}

std::optional<SharedIndividual> Scheduler::on_host(SharedIndividual genome) {
    auto here = on_host(std::vector{std::move(genome)});
    return here ? std::optional(std::move(here->front())) : std::nullopt;
}

}  // namespace cambrian::distributed
