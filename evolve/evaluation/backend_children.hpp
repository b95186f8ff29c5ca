#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/evolve/evaluation/family.hpp"
#include "cambrian/evolve/evaluation/operand_stage.hpp"
#include "cambrian/evolve/genome/weight_rows.hpp"
#include "cambrian/evolve/variation/variation.hpp"

namespace cambrian::evolve {

/// Makes children whose weights lie on a backend from the first noise to the last evaluation: of
/// networks that run as graphs and are large enough to be worth it. One caller at a time; outlives
/// the children.
class BackendChildren {
  public:
    /// Everything must outlive it. Contract: backend.inherits().
    BackendChildren(Backend& backend, const Variation& variation, Family family);

    /// Whether weights of such a structure belong on the backend.
    [[nodiscard]] bool lies_here(const Structure& structure) const;

    /// A birth and those who become its child's parents.
    struct Conception {
        Birth birth;
        std::array<const Individual*, Parents::most> parents{};
    };
    /// Makes all children, or none, and then they are to be made on the host: some are small, or
    /// memory is short (counted).
    /// @param retries Offspring::retries of each.
    [[nodiscard]] bool make(std::span<const Conception> conceptions,
                            std::span<Individual* const> children,
                            std::span<std::uint32_t> retries);
    /// Times that memory was short.
    [[nodiscard]] std::uint64_t refusals() const { return refusals_; }

  private:
    void forget();
    [[nodiscard]] bool plan(std::span<const Conception> conceptions);
    /// Rows for the children, and for parents that have none.
    [[nodiscard]] bool take_rows(std::span<const Conception> conceptions,
                                 std::span<Individual* const> children);
    void upload_parents(std::span<const Individual* const> parents, std::size_t first_row);
    [[nodiscard]] bool write(std::span<const Conception> conceptions,
                             std::span<Individual* const> children);
    void upload_literals(std::size_t children);
    void add_tasks(const Conception& conception, std::size_t index, Binding to);
    [[nodiscard]] Binding row_of(const Individual* parent) const;

    Backend& backend_;
    const Variation& variation_;
    Family family_;
    WeightRows rows_;
    std::uint64_t refusals_ = 0;
    std::unique_ptr<Individual> initial_;  ///< What founders of an initial network come from.
    std::vector<ChildPlan> plans_;
    std::vector<SharedRow> taken_;  ///< Of children, then of parents.
    std::vector<std::pair<const Individual*, SharedRow>> uploaded_;  ///< Sorted.
    std::vector<float> literals_;
    std::vector<std::int64_t> first_literals_;  ///< Of each plan.
    GrowingBuffer literal_buffer_{ValueType::real};
    std::vector<WeightDraws> draws_;
    std::vector<WeightTask> tasks_;
};

}  // namespace cambrian::evolve
