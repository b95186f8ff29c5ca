#include "cambrian/distributed/generation/ancestry.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <unordered_set>
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

}  // namespace

void Ancestry::begin(SharedStrategy strategy, std::span<const SharedIndividual> genomes) {
    known_.clear();
    states_ = open_states(std::move(strategy));
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
    states_.push_back(states_.back()->apply(decision));
}

bool Ancestry::knows(evolve::BirthId origin) const {
    return known_.contains(origin) ||
           std::ranges::any_of(states_, [origin](const SharedStrategy& state) {
               return origin - state->first_birth() < state->births();
           });
}

Ancestry::Needed Ancestry::ancestors_of(std::span<const evolve::BirthId> origins) const {
    Needed needed(states_.size());
    std::unordered_set<evolve::BirthId> wanted(origins.begin(), origins.end());
    for (std::size_t step = states_.size(); step-- > 0;) {
        const evolve::Strategy& strategy = *states_[step];
        const evolve::BirthId first = strategy.first_birth();
        std::vector<std::uint64_t>& positions = needed[step];
        for (const evolve::BirthId origin : wanted) {
            if (origin - first < strategy.births() && !known_.contains(origin)) {
                positions.push_back(origin - first);
            }
        }
        for (const std::uint64_t position : positions) {
            wanted.erase(first + position);
            for (const evolve::BirthId parent : origins_of(strategy, strategy.birth(position))) {
                wanted.insert(parent);
            }
        }
    }
    for (const evolve::BirthId origin : wanted) {
        if (!known_.contains(origin)) {
            throw InputError(fmt::format(
                "the genome of birth {} cannot be made again (it was born before the oldest "
                "checkpoint, or never) resume the run from its checkpoint",
                origin));
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
    for (std::size_t step = 0; step < states_.size(); ++step) {
        const evolve::Strategy& strategy = *states_[step];
        const std::vector<std::uint64_t>& positions = needed[step];
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
        if (teach && !children.empty()) {
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
