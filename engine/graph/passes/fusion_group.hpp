#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "cambrian/engine/graph/graph.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"

// Internal to engine/graph.
namespace cambrian {

/// Nodes that become one chain, by position, the root last. Every user of a node but the root is in
/// the region too, so no path leaves it and comes back, and nothing is computed twice.
struct FusionGroup {
    std::vector<std::size_t> nodes;
    std::vector<ValueId> operands;  ///< Values from outside, in order of creation.
};

/// Finds the regions of one graph from its last node to its first.
class FusionGroupFinder {
  public:
    FusionGroupFinder(const Graph& graph, const FusionRules& rules);

    /// The region with that root, of free nodes only, or nothing when it would save no kernel.
    [[nodiscard]] std::optional<FusionGroup> find(std::size_t root) const;
    /// Takes the nodes of a region out of the search.
    void claim(const FusionGroup& region);

    /// Whether a value is a number that bodies of fusion groups hold themselves.
    [[nodiscard]] bool is_literal(ValueId id) const;

  private:
    struct Growth;

    [[nodiscard]] std::size_t node_of(ValueId id) const;
    [[nodiscard]] const ValueInfo& result(std::size_t node) const;
    [[nodiscard]] bool is_row_reduction(std::size_t node) const;
    [[nodiscard]] bool is_elementwise(std::size_t node) const;
    [[nodiscard]] bool is_work(std::size_t node) const;
    [[nodiscard]] bool has_other_users(std::size_t node, const Growth& growth) const;
    [[nodiscard]] bool fits(std::size_t node, Growth& growth) const;
    [[nodiscard]] bool is_large(const Growth& growth) const;
    [[nodiscard]] bool fits_rows(std::size_t node, Growth& growth) const;
    [[nodiscard]] bool take(std::size_t node, Growth& growth) const;
    [[nodiscard]] std::optional<FusionGroup> grow(std::size_t root, bool reductions) const;
    [[nodiscard]] std::vector<ValueId> operands_of(const Growth& growth) const;

    const Graph& graph_;
    FusionRules rules_;
    std::vector<std::vector<std::size_t>> users_;  ///< Nodes that read a value.
    std::vector<bool> is_output_;                  ///< Of values.
    std::vector<bool> claimed_;                    ///< Of nodes.
};

/// Who reads a value.
struct ValueUsers {
    std::size_t count = 0;       ///< Operands, and outputs of the graph.
    const Node* last = nullptr;  ///< Of the nodes; lives as long as the graph.
};

/// The users of every value of a graph.
[[nodiscard]] std::vector<ValueUsers> users_of_values(const Graph& graph);

}  // namespace cambrian
