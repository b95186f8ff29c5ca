#include "cambrian/distributed/generation/follower.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <utility>

#include "cambrian/distributed/generation/blocks.hpp"
#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/strategy/selection.hpp"

namespace cambrian::distributed {

namespace {

/// Parents that a rank lacks are few where there are so many births for each: then it makes all of
/// them, and in the next round needs nobody.
constexpr std::size_t few_of_births = 32;

/// Places that births need, ascending: their parents, unless they are made already, and the
/// representatives of the species that they may be of.
std::vector<std::uint32_t> named_places(const Round& round, OrderRange births, bool made,
                                        ThreadPool& threads) {
    std::vector<char> named(round.strategy->parent_pool().size(), 0);
    std::vector<char> compared(round.kinship.size(), 0);
    // Most are marked already: threads that only look share the line of the cache.
    const auto mark = [](char& flag) {
        const std::atomic_ref shared(flag);
        if (shared.load(std::memory_order_relaxed) == 0) {
            shared.store(1, std::memory_order_relaxed);
        }
    };
    for_each_index(threads, births.size(), block_of_births, [&](std::size_t i) {
        const std::uint64_t position = round.order.at(births.begin + i);
        if (!compared.empty()) {
            mark(compared[kinship_at(round, position)]);
        }
        if (made) {
            return;
        }
        for (const evolve::Parent& parent : round.strategy->birth(position).parents) {
            mark(named.at(index_of(parent.place)));
        }
    });
    for (std::size_t range = 0; range < compared.size(); ++range) {
        if (compared[range] != 0) {
            for (const evolve::PoolPlace place : round.kinship[range].representatives) {
                named.at(index_of(place)) = 1;
            }
        }
    }
    std::vector<std::uint32_t> places;
    for (std::size_t place = 0; place < named.size(); ++place) {
        if (named[place] != 0) {
            places.push_back(static_cast<std::uint32_t>(place));
        }
    }
    return places;
}

}  // namespace

bool any_on_backend(const PoolGenomes& genomes) {
    return std::ranges::any_of(
        genomes, [](const SharedIndividual& genome) { return genome && !genome->on_host(); });
}

Follower::Follower(SharedStrategy start, Settings settings, const evolve::Variation& variation,
                   GenomePool& memory, ThreadPool& threads)
    : settings_(std::move(settings)), variation_(variation), memory_(memory), threads_(threads) {
    for (SharedStrategy& state : open_states(std::move(start))) {
        const bool reevaluate = reevaluates(state->generation());
        open_.push_back({make_round(std::move(state), {}, reevaluate, threads),
                         std::make_shared<PoolGenomes>(),
                         {},
                         {}});
    }
}

bool Follower::reevaluates(std::uint64_t generation) const {
    return settings_.reevaluate || evolve::begins_task(settings_.task_changes, generation);
}

const Follower::Open& Follower::at(std::uint64_t generation) const {
    CAMBRIAN_EXPECT(is_open(generation));
    return open_[generation - round()->generation()];
}

Follower::Open& Follower::at(std::uint64_t generation) {
    CAMBRIAN_EXPECT(is_open(generation));
    return open_[generation - round()->generation()];
}

std::shared_ptr<const PoolGenomes> Follower::lend_parents(const Round& round) {
    Open& open = at(round.generation());
    open.lent = true;
    return open.pool;
}

std::vector<std::uint32_t> Follower::Open::absent() const {
    std::vector<std::uint32_t> missing;
    for (std::uint32_t place = 0; place < pool->size(); ++place) {
        if (!has(place)) {
            missing.push_back(place);
        }
    }
    return missing;
}

PoolGenomes& Follower::Open::own_pool() {
    if (std::exchange(lent, false)) {
        pool = std::make_shared<PoolGenomes>(*pool);
    }
    return *pool;
}

void Follower::check_ranks(std::span<const std::uint32_t> holders) const {
    for (const std::uint32_t rank : holders) {
        if (rank >= settings_.ranks) {
            throw InputError(fmt::format(
                "a record is refused (it names rank {} of {}) check that every rank runs the same "
                "program",
                rank, settings_.ranks));
        }
    }
}

std::shared_ptr<const void> Follower::apply(const Record& record, SharedStrategy known) {
    for (const HolderRange& range : record.holders) {
        check_ranks(std::span(&range.rank, 1));
    }
    auto [next, sources] =
        next_round(*round(), *newest(), record, reevaluates(newest()->generation() + 1), threads_,
                   foresight_, std::move(known));
    const auto pool = std::make_shared<PoolGenomes>(sources.size());
    for_each_index(threads_, sources.size(), block_of_births, [&](std::size_t place) {
        const MemberSource& source = sources[place];
        switch (source.place) {
            case MemberSource::Place::child:
                (*pool)[place] = open_.front().children.at(source.index);
                break;
            case MemberSource::Place::parent:
                (*pool)[place] = (*open_.front().pool)[source.index];
                break;
            case MemberSource::Place::member:
                (*pool)[place] = (*open_.back().pool)[source.index];
                break;
        }
    });
    std::deque<Open> closed;
    if (former_) {
        closed.push_back(*std::exchange(former_, std::nullopt));
    }
    former_ = std::move(open_.front());
    open_.pop_front();
    closed.emplace_back().children = std::exchange(former_->children, {});
    open_.push_back({std::move(next), pool, {}, {}});
    return retire(std::move(closed));
}

bool Follower::is_at(std::span<const Hash128> states) const {
    return std::ranges::find(states, newest()->digest) != states.end();
}

std::shared_ptr<const void> Follower::load(std::span<const std::byte> state,
                                           std::vector<std::uint32_t> holders,
                                           std::span<const Hash128> passed) {
    check_ranks(holders);
    std::deque<Open> loaded;
    auto begin = holders.begin();
    for (SharedStrategy& strategy : open_states(evolve::state_of(*newest()->strategy, state))) {
        const std::span<const evolve::Member> members = strategy->parent_pool();
        const auto left = static_cast<std::size_t>(holders.end() - begin);
        const auto end = begin + static_cast<std::ptrdiff_t>(std::min(left, members.size()));
        if (left < members.size()) {
            break;
        }
        const auto pool = std::make_shared<PoolGenomes>(members.size());
        const bool reevaluate = reevaluates(strategy->generation());
        loaded.push_back({make_round(std::move(strategy), std::vector<std::uint32_t>(begin, end),
                                     reevaluate, threads_),
                          pool,
                          {},
                          {}});
        begin = end;
    }
    if (loaded.size() != open_.size() || begin != holders.end()) {
        throw InputError(
            "the state of a run is refused (its members and their ranks differ in number) check "
            "that every rank runs the same program");
    }
    const bool right = is_at(passed);
    for (Open& open : loaded) {
        const std::span<const evolve::Member> members = open.round->strategy->parent_pool();
        for (std::size_t place = 0; right && place < members.size(); ++place) {
            (*open.pool)[place] = find(members[place].origin);
        }
    }
    std::deque<Open> closed = std::exchange(open_, std::move(loaded));
    for (Open& old : closed) {
        if (right && is_open(old.round->generation())) {
            // Its children may still become members.
            at(old.round->generation()).children = std::exchange(old.children, {});
        }
    }
    if (former_) {
        closed.push_back(*std::exchange(former_, std::nullopt));
    }
    return retire(std::move(closed));
}

std::vector<std::uint32_t> Follower::holders() const {
    std::vector<std::uint32_t> all;
    for (const Open& open : open_) {
        all.insert(all.end(), open.round->holders.begin(), open.round->holders.end());
    }
    return all;
}

std::shared_ptr<const void> Follower::retire(std::deque<Open> closed) {
    struct Retired {
        Retired(ThreadPool& pool, std::deque<Open>&& rounds)
            : threads(pool), closed(std::move(rounds)) {}
        Retired(const Retired&) = delete;
        Retired& operator=(const Retired&) = delete;
        ~Retired() {
            for (Open& open : closed) {
                open.children.clear(threads);
            }
        }

        ThreadPool& threads;
        std::deque<Open> closed;
    };
    return std::make_shared<Retired>(threads_, std::move(closed));
}

MissingParents Follower::missing_parents(const Round& round, OrderRange births, std::size_t remakes,
                                         bool made) {
    const std::span<const evolve::Member> members = round.strategy->parent_pool();
    Open& open = at(round.generation());
    if (std::ranges::find(*open.pool, nullptr) == open.pool->end()) {
        return {};  // A rank alone has all of them.
    }
    const bool elsewhere = settings_.on_backend && (any_on_backend(*open.pool) ||
                                                    (former_ && any_on_backend(*former_->pool)));
    std::vector<std::uint32_t> absent;
    bool all = this->open() == 1 && !made;
    if (all) {
        absent = open.absent();
        const bool cheap = few_of_births * absent.size() <= births.size();
        all = absent.size() <= remakes && (elsewhere || cheap);
    }
    if (!all) {
        absent = named_places(round, births, made, threads_);
        std::erase_if(absent, [&open](std::uint32_t place) { return open.has(place); });
    }
    if (absent.empty()) {
        return {};
    }
    PoolGenomes& pool = open.own_pool();
    MissingParents missing;
    std::vector<Remakes::Recipe> at_once;
    std::vector<Remakes::Recipe>& later = missing.remakes.recipes;
    for (const std::uint32_t place : absent) {
        // Another island or open round may have the same genome.
        if (SharedIndividual here = find(members[place].origin)) {
            pool[place] = std::move(here);
        } else if (const auto birth = recipe_of(members[place]);
                   birth && at_once.size() + later.size() < remakes) {
            (elsewhere ? later : at_once).push_back({place, *birth});
        } else {
            missing.places.push_back(place);
        }
    }
    if (all && !elsewhere && !missing.places.empty()) {
        // Nobody is asked for what these births do not need.
        std::vector<std::uint32_t> needed;
        std::ranges::set_intersection(missing.places, named_places(round, births, made, threads_),
                                      std::back_inserter(needed));
        missing.places = std::move(needed);
    }
    for_each_index(threads_, at_once.size(), block_of_genomes, [&](std::size_t i) {
        const auto& [place, birth] = at_once[i];
        pool[place] = make_child(variation_, birth, *former_->pool, memory_).genome;
    });
    missing.remade = at_once.size();
    if (!later.empty()) {
        missing.remakes.former = former_->pool;
        open.promised.resize(pool.size());
        for (const Remakes::Recipe& recipe : later) {
            open.promised[recipe.place] = 1;
        }
    }
    return missing;
}

std::optional<evolve::Birth> Follower::recipe_of(const evolve::Member& member) const {
    if (!former_ || !settings_.remakes || member.origin != member.birth) {
        return std::nullopt;
    }
    const evolve::Strategy& strategy = *former_->round->strategy;
    const std::uint64_t position = member.birth - strategy.first_birth();
    if (position >= strategy.births()) {
        return std::nullopt;
    }
    const evolve::Birth birth = strategy.birth(position);
    const bool here = std::ranges::all_of(birth.parents, [&](const evolve::Parent& parent) {
        return (*former_->pool)[index_of(parent.place)] != nullptr;
    });
    return here ? std::optional(birth) : std::nullopt;
}

void Follower::fill(const Round& round, std::size_t place, SharedIndividual genome) {
    CAMBRIAN_EXPECT(genome != nullptr);
    Open& open = at(round.generation());
    if (!open.pool->at(place)) {
        open.own_pool()[place] = std::move(genome);
    }
}

bool Follower::contradicts(const Round& other) const {
    if (!is_open(other.generation())) {
        return false;
    }
    const Round& own = *round(other.generation());
    return own.digest != other.digest &&
           (open() == 1 ||
            !std::ranges::equal(own.strategy->parent_pool(), other.strategy->parent_pool()));
}

void Follower::fill(evolve::BirthId origin, const SharedIndividual& genome) {
    for (Open& open : open_) {
        if (const auto place = open.place_of(origin)) {
            fill(*open.round, *place, genome);
        }
    }
}

void Follower::keep(const Round& round, OrderRange births,
                    std::vector<SharedIndividual>&& children) {
    CAMBRIAN_EXPECT(births.size() == children.size() && births.end <= round.order.size());
    if (!is_open(round.generation()) || contradicts(round)) {
        return;
    }
    at(round.generation())
        .children.keep(round.strategy->births(),
                       std::span(round.order).subspan(births.begin, births.size()), children,
                       threads_);
}

std::optional<std::size_t> Follower::Open::place_of(evolve::BirthId origin) {
    if (!places.made()) {
        places = OriginIndex(round->strategy->parent_pool());
    }
    return places.find(origin);
}

SharedIndividual Follower::Open::parent(evolve::BirthId origin) {
    const auto place = place_of(origin);
    return place ? (*pool)[*place] : nullptr;
}

SharedIndividual Follower::find(evolve::BirthId origin) {
    for (const Open& open : open_) {
        if (SharedIndividual made =
                open.children.at(origin - open.round->strategy->first_birth())) {
            return made;
        }
    }
    for (Open& open : open_) {
        if (SharedIndividual parent = open.parent(origin)) {
            return parent;
        }
    }
    return former_ ? former_->parent(origin) : nullptr;
}

}  // namespace cambrian::distributed
