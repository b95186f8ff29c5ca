#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
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
    std::array<const evolve::Individual*, evolve::Parents::max_count> genomes_{};
    std::size_t count_;
};

/// Individuals whose memory is used again, and that of their counters, too: what the last owner
/// drops is written over by a later child, so that a steady population allocates next to nothing.
/// It never holds more individuals than lived at once. Any thread may take and drop. Outlives its
/// individuals.
class GenomePool {
    struct Node;
    template <class Value>
    struct Counters;

  public:
    /// An individual to write over. It may become a SharedIndividual.
    class Blank {
      public:
        Blank(Blank&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
        Blank& operator=(Blank&& other) noexcept {
            std::swap(node_, other.node_);
            return *this;
        }
        ~Blank();
        Blank(const Blank&) = delete;
        Blank& operator=(const Blank&) = delete;

        [[nodiscard]] evolve::Individual* get() const;
        [[nodiscard]] evolve::Individual& operator*() const { return *get(); }
        [[nodiscard]] evolve::Individual* operator->() const { return get(); }
        operator SharedIndividual() &&;  // NOLINT: what it is for

      private:
        friend class GenomePool;
        explicit Blank(Node* node) : node_(node) {}

        Node* node_;
    };

    /// @param threads that take and drop at once.
    explicit GenomePool(int threads);
    ~GenomePool();
    GenomePool(const GenomePool&) = delete;
    GenomePool& operator=(const GenomePool&) = delete;

    /// Dropped individuals, then new ones.
    [[nodiscard]] std::vector<Blank> take(std::size_t count);

  private:
    /// Of the threads that share it.
    struct alignas(64) Stripe {
        std::mutex mutex;
        std::unique_ptr<Node> dropped;  ///< The last one, which names the one before.
        std::int64_t outstanding = 0;   ///< Taken from here and not given back here.
    };

    [[nodiscard]] std::size_t own_stripe() const;
    [[nodiscard]] Blank make();
    void give_back(Node* node) noexcept;

    std::vector<Stripe> stripes_;
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
