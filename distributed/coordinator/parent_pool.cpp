#include "cambrian/distributed/coordinator/parent_pool.hpp"

#include <fmt/core.h>

#include <utility>

#include "cambrian/distributed/protocol/blocks.hpp"
#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"

namespace cambrian::distributed {

SharedGenome GenomeMaker::genome_of(const evolve::Birth& birth, const evolve::Outcome& outcome,
                                    const SharedGenome& known, int rank,
                                    std::span<const SharedGenome> parents) const {
    if (birth.recipe == evolve::Recipe::carry && birth.parents.front().genome == outcome.genome) {
        return parents[birth.parents.front().member];
    }
    SharedGenome genome = known;
    if (!genome) {
        genome = make_child(*variation, birth, parents, *pool).genome;
    }
    if (rank != 0 && evolve::content_hash(*genome) != outcome.genome) {
        throw Error(
            fmt::format("rank {} made another child of birth {} than rank 0 (its build or "
                        "its memory differs) run without that host",
                        rank, outcome.id));
    }
    return genome;
}

std::optional<evolve::BirthId> ParentPool::restore(std::span<const evolve::Member> members,
                                                   std::vector<ParentPoolMember>&& saved) {
    std::unordered_map<evolve::BirthId, ParentPoolMember*> by_birth;
    for (ParentPoolMember& member : saved) {
        by_birth.emplace(member.outcome.id, &member);
    }
    members_.clear();
    const auto genomes = std::make_shared<Genomes>();
    for (const evolve::Member& member : members) {
        const auto at = by_birth.find(member.birth);
        if (at == by_birth.end() || at->second->outcome.genome != member.genome) {
            return member.birth;
        }
        ParentPoolMember& found = *at->second;
        const evolve::Birth birth{member.birth, evolve::Recipe::carry, {}};
        members_.push_back({std::move(found.outcome), birth, 0});
        genomes->push_back(std::move(found.genome));
    }
    genomes_ = genomes;
    former_ = nullptr;
    places_.clear();
    return std::nullopt;
}

void ParentPool::succeed(std::span<const evolve::Member> members,
                         std::span<const evolve::Birth> births, GenerationResults& results) {
    former_ = genomes();
    members_.resize(members.size());
    genomes_ = std::make_shared<Genomes>(members.size());
    places_.clear();
    for (std::size_t place = 0; place < members.size(); ++place) {
        const std::size_t index = members[place].birth - births.front().id;
        CAMBRIAN_ASSERT(index < births.size() && births[index].id == members[place].birth);
        members_[place] = {std::move(results.outcomes[index]), births[index], results.ranks[index]};
        (*genomes_)[place] = std::move(results.genomes[index]);
    }
}

SharedGenomes ParentPool::genomes() {
    if (former_) {
        for_each_index(*threads_, members_.size(), block_of_genomes, [&](std::size_t place) {
            const Member& member = members_[place];
            SharedGenome& genome = (*genomes_)[place];
            genome = maker_.genome_of(member.birth, member.outcome, genome, member.rank, *former_);
        });
        retired_ = std::exchange(former_, nullptr);
    }
    return genomes_;
}

evolve::Parent ParentPool::parent(std::size_t place) const {
    const evolve::Outcome& outcome = members_[place].outcome;
    return {outcome.id, outcome.genome, outcome.fitness, static_cast<std::uint32_t>(place)};
}

std::optional<std::size_t> ParentPool::find(Hash128 genome) {
    if (places_.empty()) {
        for (std::size_t place = 0; place < members_.size(); ++place) {
            places_.emplace(members_[place].outcome.genome, place);
        }
    }
    const auto at = places_.find(genome);
    return at == places_.end() ? std::nullopt : std::optional(at->second);
}

}  // namespace cambrian::distributed
