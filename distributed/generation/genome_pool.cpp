#include "cambrian/distributed/generation/genome_pool.hpp"

#include <utility>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian::distributed {

ParentGenomes::ParentGenomes(const evolve::Birth& birth, std::span<const SharedGenome> list)
    : count_(birth.parents.size()) {
    for (std::size_t i = 0; i < count_; ++i) {
        const std::size_t place = index_of(birth.parents[i].place);
        CAMBRIAN_ASSERT(place < list.size() && list[place]);
        genomes_[i] = list[place].get();
    }
}

std::uint64_t footprint(const evolve::Genome& genome) {
    constexpr std::uint64_t slot_bytes = sizeof(std::optional<Slot>) + sizeof(evolve::Gene);
    constexpr std::uint64_t link_bytes = sizeof(Link) + sizeof(evolve::Gene);
    return sizeof(evolve::Genome) + genome.weights.capacity() * sizeof(float) +
           genome.blueprint.slots.capacity() * slot_bytes +
           genome.blueprint.links.capacity() * link_bytes;
}

GenomePool::~GenomePool() {
    CAMBRIAN_EXPECT(outstanding_ == 0);
}

std::vector<GenomePool::Blank> GenomePool::take(std::size_t count) {
    std::vector<Blank> taken;
    taken.reserve(count);
    {
        const std::lock_guard lock(mutex_);
        for (; taken.size() < count && !dropped_.empty(); dropped_.pop_back()) {
            bytes_ -= footprint(*dropped_.back());
            taken.emplace_back(dropped_.back().release(), Return{this});
        }
        outstanding_ += count;
    }
    while (taken.size() < count) {
        taken.emplace_back(std::make_unique<evolve::Genome>().release(), Return{this});
    }
    return taken;
}

void GenomePool::give_back(std::unique_ptr<evolve::Genome> genome) {
    const std::uint64_t bytes = footprint(*genome);
    const std::lock_guard lock(mutex_);
    --outstanding_;
    if (bytes_ + bytes <= limit_) {
        bytes_ += bytes;
        dropped_.push_back(std::move(genome));
    }
}

Child make_child(const evolve::Variation& variation, const evolve::Birth& birth,
                 std::span<const SharedGenome> parents, GenomePool::Blank& blank) {
    if (birth.recipe == evolve::Recipe::carry) {
        return {parents[index_of(birth.parents.front().place)]};
    }
    Child child;
    child.retries = variation.materialise(birth, ParentGenomes(birth, parents).span(), *blank);
    child.genome = std::move(blank);
    return child;
}

Child make_child(const evolve::Variation& variation, const evolve::Birth& birth,
                 std::span<const SharedGenome> parents, GenomePool& pool) {
    return make_child(variation, birth, parents, pool.take(1).front());
}

}  // namespace cambrian::distributed
