#include "cambrian/distributed/generation/follower.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "cambrian/distributed/generation/blocks.hpp"
#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"

namespace cambrian::distributed {

namespace {

/// Where each origin is in a parent pool. Several members may share one.
std::unordered_map<evolve::BirthId, std::uint32_t> places_of(
    std::span<const evolve::Member> members) {
    std::unordered_map<evolve::BirthId, std::uint32_t> places;
    places.reserve(members.size());
    for (std::size_t place = 0; place < members.size(); ++place) {
        places.emplace(members[place].origin, static_cast<std::uint32_t>(place));
    }
    return places;
}

/// Places that births name as parents, ascending.
std::vector<std::uint32_t> named_places(const Round& round, OrderRange births,
                                        ThreadPool& threads) {
    std::vector<char> named(round.strategy->parent_pool().size(), 0);
    for_each_index(threads, births.size(), block_of_births, [&](std::size_t i) {
        for (const evolve::Parent& parent :
             round.strategy->birth(round.order.at(births.begin + i)).parents) {
            std::atomic_ref(named.at(index_of(parent.place))).store(1, std::memory_order_relaxed);
        }
    });
    std::vector<std::uint32_t> places;
    for (std::size_t place = 0; place < named.size(); ++place) {
        if (named[place] != 0) {
            places.push_back(static_cast<std::uint32_t>(place));
        }
    }
    return places;
}

}  // namespace

Follower::Follower(SharedStrategy start, const Settings& settings,
                   const evolve::Variation& variation, GenomePool& memory, ThreadPool& threads)
    : settings_(settings),
      variation_(variation),
      memory_(memory),
      threads_(threads),
      round_(make_round(std::move(start), {}, settings.reevaluate, threads)),
      pool_(std::make_shared<PoolGenomes>()) {}

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

std::shared_ptr<const void> Follower::apply(const Record& record) {
    for (const HolderRange& range : record.holders) {
        check_ranks(std::span(&range.rank, 1));
    }
    SharedRound next = next_round(*round_, record, settings_.reevaluate, threads_);
    const std::span<const evolve::Member> members = next->strategy->parent_pool();
    const auto pool = std::make_shared<PoolGenomes>(members.size());
    for_each_index(threads_, members.size(), block_of_births, [&](std::size_t place) {
        const evolve::Member& member = members[place];
        const std::uint64_t position = member.birth - round_->strategy->first_birth();
        if (member.origin == member.birth) {
            (*pool)[place] = child(position);
        } else {
            const evolve::Birth carried = round_->strategy->birth(position);
            (*pool)[place] = (*pool_)[index_of(carried.parents.front().place)];
        }
    });
    Former former{round_, pool_};
    std::shared_ptr<const void> retired = enter(std::move(next), pool);
    former_ = std::move(former);
    return retired;
}

std::shared_ptr<const void> Follower::load(std::span<const std::byte> state,
                                           std::vector<std::uint32_t> holders) {
    check_ranks(holders);
    SharedStrategy strategy = round_->strategy->load(state);
    const std::span<const evolve::Member> members = strategy->parent_pool();
    if (holders.size() != members.size()) {
        throw InputError(
            "the state of a run is refused (its members and their ranks differ in number) check "
            "that every rank runs the same program");
    }
    const auto pool = std::make_shared<PoolGenomes>(members.size());
    for (std::size_t place = 0; place < members.size(); ++place) {
        (*pool)[place] = find(members[place].origin);
    }
    return enter(
        make_round(std::move(strategy), std::move(holders), settings_.reevaluate, threads_), pool);
}

std::shared_ptr<const void> Follower::enter(SharedRound next, std::shared_ptr<PoolGenomes> pool) {
    struct Retired {
        explicit Retired(ThreadPool& pool) : threads(pool) {}
        Retired(const Retired&) = delete;
        Retired& operator=(const Retired&) = delete;
        ~Retired() {
            for_each_index(threads, children.size(), block_of_births,
                           [this](std::size_t child) { children[child].reset(); });
        }

        ThreadPool& threads;
        PoolGenomes children;
        Former former;
    };
    const auto retired = std::make_shared<Retired>(threads_);
    retired->children = std::exchange(children_, {});
    retired->former = std::exchange(former_, {});
    round_ = std::move(next);
    pool_ = std::move(pool);
    places_.clear();
    former_places_.clear();
    return retired;
}

std::vector<std::uint32_t> Follower::missing_parents(OrderRange births, std::size_t remakes) {
    const std::span<const evolve::Member> members = round_->strategy->parent_pool();
    std::vector<std::uint32_t> missing;
    std::vector<std::pair<std::uint32_t, evolve::Birth>> recipes;
    for (const std::uint32_t place : named_places(*round_, births, threads_)) {
        if ((*pool_)[place]) {
            continue;
        }
        // Another island may have the same genome.
        if (SharedIndividual here = find(members[place].origin)) {
            (*pool_)[place] = std::move(here);
        } else if (const auto recipe = recipe_of(members[place]);
                   recipe && recipes.size() < remakes) {
            recipes.emplace_back(place, *recipe);
        } else {
            missing.push_back(place);
        }
    }
    for_each_index(threads_, recipes.size(), block_of_genomes, [&](std::size_t i) {
        const auto& [place, recipe] = recipes[i];
        const PoolGenomes none;
        (*pool_)[place] =
            make_child(variation_, recipe, former_.pool ? *former_.pool : none, memory_).genome;
    });
    return missing;
}

std::optional<evolve::Birth> Follower::recipe_of(const evolve::Member& member) const {
    if (!former_.round || member.origin != member.birth) {
        return std::nullopt;
    }
    const evolve::Strategy& strategy = *former_.round->strategy;
    const evolve::Birth birth = strategy.birth(member.birth - strategy.first_birth());
    const bool here = std::ranges::all_of(birth.parents, [&](const evolve::Parent& parent) {
        return (*former_.pool)[index_of(parent.place)] != nullptr;
    });
    return here ? std::optional(birth) : std::nullopt;
}

void Follower::fill(std::size_t place, SharedIndividual genome) {
    CAMBRIAN_EXPECT(genome != nullptr);
    if (!pool_->at(place)) {
        (*pool_)[place] = std::move(genome);
    }
}

void Follower::keep(OrderRange births, std::span<const SharedIndividual> children) {
    CAMBRIAN_EXPECT(births.size() == children.size() && births.end <= round_->order.size());
    children_.resize(round_->strategy->births());
    for (std::size_t i = 0; i < children.size(); ++i) {
        children_[round_->order[births.begin + i]] = children[i];
    }
}

SharedIndividual Follower::child(std::uint64_t position) const {
    return position < children_.size() ? children_[position] : nullptr;
}

SharedIndividual Follower::find(evolve::BirthId origin) {
    if (SharedIndividual made = child(origin - round_->strategy->first_birth())) {
        return made;
    }
    if (places_.empty()) {
        places_ = places_of(round_->strategy->parent_pool());
    }
    if (const auto at = places_.find(origin); at != places_.end() && (*pool_)[at->second]) {
        return (*pool_)[at->second];
    }
    if (!former_.round) {
        return nullptr;
    }
    if (former_places_.empty()) {
        former_places_ = places_of(former_.round->strategy->parent_pool());
    }
    const auto at = former_places_.find(origin);
    return at == former_places_.end() ? nullptr : (*former_.pool)[at->second];
}

}  // namespace cambrian::distributed
