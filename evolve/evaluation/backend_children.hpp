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
    struct ResolvedBirth {
        Birth birth;
        std::array<const Individual*, Parents::max_count> parents{};
    };
    struct Made {
        std::vector<std::size_t> births;  ///< By number, in order; others are the host's to make.
        bool short_of_memory = false;     ///< So that there is none.
    };
    /// @param retries Offspring::retries of each.
    [[nodiscard]] Made make(std::span<const ResolvedBirth> births,
                            std::span<Individual* const> children,
                            std::span<std::uint32_t> retries);
    /// Whether weights of an individual may lie on the backend: there is memory for some.
    [[nodiscard]] bool holds_some() const { return rows_.held() > 0; }
    /// Gives memory back that no individual lies in.
    void trim() { rows_.trim(); }

  private:
    /// Plans births; → those whose children lie here and can be made here.
    [[nodiscard]] std::vector<std::size_t> plan(std::span<const ResolvedBirth> births);
    [[nodiscard]] bool plan(const ResolvedBirth& birth, ChildPlan& plan) const;
    /// The network that a founder comes from where there is no parent; null: none.
    [[nodiscard]] const Individual* first_parent(const ResolvedBirth& birth) const;
    /// Rows for the children, and for parents that have none.
    [[nodiscard]] bool take_rows(std::span<const ResolvedBirth> births,
                                 std::span<Individual* const> children);
    void upload_parents(std::span<const Individual* const> parents, std::size_t first_row);
    [[nodiscard]] bool write(std::span<const ResolvedBirth> births,
                             std::span<Individual* const> children);
    void upload_literals(std::size_t children);
    void add_tasks(const ResolvedBirth& birth, std::size_t index, Binding to);
    [[nodiscard]] Binding row_of(const Individual* parent) const;

    Backend& backend_;
    const Variation& variation_;
    Family family_;
    bool founders_lie_here_ = false;
    WeightRows rows_;
    /// What founders come from; none where they have fresh weights.
    std::vector<std::unique_ptr<Individual>> initial_;
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
