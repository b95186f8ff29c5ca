#pragma once

#include <cstdint>
#include <vector>

#include "cambrian/engine/cpu/fused/axes.hpp"

namespace cambrian::cpu {

/// In which pass over the rows each value of a fusion group's body is computed: a fold ends a pass,
/// and what depends on it comes in a later one. One entry for each value.
struct FusedPasses {
    FusedPasses(const Graph& body, const FusedAxes& axes);

    /// Whether a node is a loop of a lifted function: no input, constant, view or fold.
    [[nodiscard]] static bool is_loop(const Node& node);
    /// The nodes that compute full values in a pass, and the folds at its end, in order.
    [[nodiscard]] std::vector<const Node*> nodes_of(const Graph& body, int pass) const;

    std::vector<std::size_t> root;  ///< The value itself, or the one it is a view of.
    std::vector<std::size_t> view;  ///< Of an input: which view of the axes it is.
    std::vector<Level> level;       ///< Of roots.
    std::vector<int> ready;         ///< The first pass that it can be computed in.
    std::vector<int> pass;          ///< A full value: the first pass that needs it. A fold: its.
    std::vector<bool> kept;         ///< A full value that is stored for later passes.
    std::vector<bool> folded;       ///< A value that is folded.
    int passes = 1;

  private:
    void find_levels(const Graph& body, const FusedAxes& axes);
    void need(const Graph& body, ValueId id, int now);
    [[nodiscard]] bool is_cheap(const Graph& body, const Node& node) const;

    std::vector<std::vector<std::size_t>> again_;  ///< Values that a pass computes once more.
};

}  // namespace cambrian::cpu
