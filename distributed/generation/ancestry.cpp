#include "cambrian/distributed/generation/ancestry.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <memory>
#include <set>
#include <utility>

#include "cambrian/distributed/generation/blocks.hpp"
#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"

namespace cambrian::distributed {

namespace {

/// The origins of a birth's parents.
std::vector<evolve::BirthId> origins_of(const evolve::Strategy& strategy,
                                        const evolve::Birth& birth) {
    std::vector<evolve::BirthId> origins;
    for (const evolve::Parent& parent : birth.parents) {
        origins.push_back(strategy.parent_pool()[index_of(parent.place)].origin);
    }
    return origins;
}

/// A steady state also has the addresses of the pools of its window.
std::size_t bytes_of(const evolve::Strategy& strategy) {
    constexpr std::size_t without_members = 1024;
    return without_members + strategy.parent_pool().size_bytes() +
           strategy.open() * sizeof(std::shared_ptr<void>);
}

}  // namespace

void Ancestry::begin(SharedStrategy strategy, std::span<const SharedIndividual> genomes) {
    known_.clear();
    states_ = open_states(std::move(strategy));
    bytes_ = 0;
    std::size_t next = 0;
    for (const SharedStrategy& state : states_) {
        for (const evolve::Member& member : state->parent_pool()) {
            CAMBRIAN_EXPECT(next < genomes.size() && genomes[next] != nullptr);
            known_.emplace(member.origin, genomes[next++]);
        }
    }
    CAMBRIAN_EXPECT(next == genomes.size());
}

void Ancestry::add(std::span<const std::byte> decision) {
    add(evolve::state_after(*states_.back(), decision));
}

void Ancestry::add(SharedStrategy next) {
    bytes_ += bytes_of(*next);
    states_.push_back(std::move(next));
}

std::optional<std::size_t> Ancestry::state_of(evolve::BirthId origin) const {
    const auto after = std::ranges::upper_bound(
        states_, origin, {}, [](const SharedStrategy& state) { return state->first_birth(); });
    if (after == states_.begin()) {
        return std::nullopt;
    }
    const evolve::Strategy& strategy = **std::prev(after);
    return origin - strategy.first_birth() < strategy.births()
               ? std::optional(static_cast<std::size_t>(after - states_.begin()) - 1)
               : std::nullopt;
}

bool Ancestry::knows(evolve::BirthId origin) const {
    return known_.contains(origin) || state_of(origin);
}

Ancestry::Needed Ancestry::ancestors_of(std::span<const evolve::BirthId> origins) const {
    Needed needed;
    // A parent has a lower id than its child, so none comes after its turn.
    std::set<evolve::BirthId, std::greater<>> wanted(origins.begin(), origins.end());
    while (!wanted.empty()) {
        const evolve::BirthId origin = wanted.extract(wanted.begin()).value();
        if (known_.contains(origin)) {
            continue;
        }
        const std::optional<std::size_t> step = state_of(origin);
        if (!step) {
            throw InputError(fmt::format(
                "the genome of birth {} cannot be made again (it was born before the oldest "
                "checkpoint, or never) resume the run from its checkpoint",
                origin));
        }
        const evolve::Strategy& strategy = *states_[*step];
        const std::uint64_t position = origin - strategy.first_birth();
        needed[*step].push_back(position);
        for (const evolve::BirthId parent : origins_of(strategy, strategy.birth(position))) {
            wanted.insert(parent);
        }
    }
    return needed;
}

Ancestry::Genomes Ancestry::make(std::span<const evolve::BirthId> origins,
                                 const evolve::Variation& variation, GenomePool& memory,
                                 ThreadPool& threads, const Teach& teach) const {
    const Needed needed = ancestors_of(origins);
    Genomes made;
    const auto genome_of = [&](evolve::BirthId origin) {
        const auto at = made.find(origin);
        return at != made.end() ? at->second : known_.at(origin);
    };
    for (const auto& [step, positions] : needed) {
        const evolve::Strategy& strategy = *states_[step];
        std::vector<SharedIndividual> children(positions.size());
        for_each_index(threads, positions.size(), block_of_genomes, [&](std::size_t i) {
            evolve::Birth birth = strategy.birth(positions[i]);
            std::array<SharedIndividual, evolve::Parents::max_count> parents;
            evolve::Parents named;
            for (evolve::Parent parent : birth.parents) {
                const std::size_t place = named.size();
                parents.at(place) =
                    genome_of(strategy.parent_pool()[index_of(parent.place)].origin);
                parent.place = static_cast<evolve::PoolPlace>(place);
                named.push_back(parent);
            }
            birth.parents = named;
            children[i] = make_child(variation, birth, parents, memory).genome;
        });
        if (teach) {
            teach(children, strategy.generation());
        }
        for (std::size_t i = 0; i < positions.size(); ++i) {
            made.emplace(strategy.first_birth() + positions[i], std::move(children[i]));
        }
    }
    Genomes result;
    for (const evolve::BirthId origin : origins) {
        result.emplace(origin, genome_of(origin));
    }
    return result;
}

}  // namespace cambrian::distributed
