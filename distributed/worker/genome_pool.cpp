#include "cambrian/distributed/worker/genome_pool.hpp"

#include <utility>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian::distributed {

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
        return {parents[birth.parents.front().member]};
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
