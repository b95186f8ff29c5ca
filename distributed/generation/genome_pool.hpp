#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "cambrian/evolve/genome/structure.hpp"
#include "cambrian/evolve/variation/variation.hpp"

namespace cambrian::distributed {

using SharedIndividual = std::shared_ptr<const evolve::Individual>;

/// The genomes of a birth's parents, which are at Parent::place of a list.
class ParentGenomes {
  public:
    ParentGenomes(const evolve::Birth& birth, std::span<const SharedIndividual> list);
    [[nodiscard]] std::span<const evolve::Individual* const> span() const {
        return std::span(genomes_).first(count_);
    }

  private:
    std::array<const evolve::Individual*, evolve::Parents::most> genomes_{};
    std::size_t count_;
};

/// Bytes an individual takes in memory beside its structure, roughly.
[[nodiscard]] std::uint64_t footprint(const evolve::Individual& individual);

/// Genomes whose memory is used again: what the last owner drops is written over by a later child,
/// so that a steady population allocates next to nothing. Any thread may take and drop. Outlives
/// its genomes.
class GenomePool {
  public:
    struct Return {
        GenomePool* pool;
        void operator()(evolve::Individual* genome) const {
            pool->give_back(std::unique_ptr<evolve::Individual>(genome));
        }
    };
    /// A genome to write over. It may become a SharedIndividual.
    using Blank = std::unique_ptr<evolve::Individual, Return>;

    /// @param limit_bytes of dropped genomes that are kept; what is beyond is freed.
    explicit GenomePool(std::uint64_t limit_bytes) : limit_(limit_bytes) {}
    ~GenomePool();
    GenomePool(const GenomePool&) = delete;
    GenomePool& operator=(const GenomePool&) = delete;

    /// Dropped genomes, then new ones.
    [[nodiscard]] std::vector<Blank> take(std::size_t count);

  private:
    void give_back(std::unique_ptr<evolve::Individual> genome);

    const std::uint64_t limit_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<evolve::Individual>> dropped_;
    std::uint64_t bytes_ = 0;      ///< Of the dropped ones.
    std::size_t outstanding_ = 0;  ///< Taken and not yet back.
};

struct Child {
    SharedIndividual genome;
    std::uint32_t retries = 0;  ///< Structural draws that had no valid outcome.
};
/// The child of a birth whose parents are at Parent::place of a list, written over a blank. Every
/// rank makes its genomes here, and every rank makes the same. A carry is its parent.
/// @param plan for use again.
[[nodiscard]] Child make_child(const evolve::Variation& variation, const evolve::Birth& birth,
                               std::span<const SharedIndividual> parents, evolve::ChildPlan& plan,
                               GenomePool::Blank& blank);
[[nodiscard]] Child make_child(const evolve::Variation& variation, const evolve::Birth& birth,
                               std::span<const SharedIndividual> parents, GenomePool& pool);

}  // namespace cambrian::distributed
