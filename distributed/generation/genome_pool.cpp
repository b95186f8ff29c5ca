#include "cambrian/distributed/generation/genome_pool.hpp"

#include <utility>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian::distributed {

ParentGenomes::ParentGenomes(const evolve::Birth& birth, std::span<const SharedIndividual> list)
    : count_(birth.parents.size()) {
    for (std::size_t i = 0; i < count_; ++i) {
        const std::size_t place = index_of(birth.parents[i].place);
        CAMBRIAN_ASSERT(place < list.size() && list[place]);
        genomes_[i] = list[place].get();
    }
}

std::uint64_t footprint(const evolve::Individual& individual) {
    return sizeof(evolve::Individual) + individual.weights.capacity() * sizeof(float);
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
        taken.emplace_back(std::make_unique<evolve::Individual>().release(), Return{this});
    }
    return taken;
}

void GenomePool::give_back(std::unique_ptr<evolve::Individual> genome) {
    genome->structure.reset();  // memory that is not its own
    genome->row.reset();
    const std::uint64_t bytes = footprint(*genome);
    const std::lock_guard lock(mutex_);
    --outstanding_;
    if (bytes_ + bytes <= limit_) {
        bytes_ += bytes;
        dropped_.push_back(std::move(genome));
    }
}

Child make_child(const evolve::Variation& variation, const evolve::Birth& birth,
                 std::span<const SharedIndividual> parents, evolve::ChildPlan& plan,
                 GenomePool::Blank& blank) {
    if (birth.recipe == evolve::Recipe::carry) {
        return {parents[index_of(birth.parents.front().place)]};
    }
    variation.materialise(birth, ParentGenomes(birth, parents).span(), plan, *blank);
    return {std::move(blank), plan.retries};
}

Child make_child(const evolve::Variation& variation, const evolve::Birth& birth,
                 std::span<const SharedIndividual> parents, GenomePool& pool) {
    evolve::ChildPlan plan;
    return make_child(variation, birth, parents, plan, pool.take(1).front());
}

}  // namespace cambrian::distributed
