#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "cambrian/engine/graph/graph.hpp"

namespace cambrian {

/// The same graph with the named inputs (by position) given a population axis; the mark spreads by
/// each op's batch rule, through scan bodies to a fixed point. Operands that all individuals share
/// stay shared. There is no op over the population, so individuals cannot meet: batch independence
/// holds by construction.
[[nodiscard]] Graph over_population(const Graph& graph,
                                    std::span<const std::size_t> per_individual_inputs);

/// Without nodes that no output needs. Inputs stay, in order. Also inside scan bodies.
[[nodiscard]] Graph eliminate_dead_code(const Graph& graph);

/// Whether a graph, or the body of a scan in it, holds a fused op for which `has_kernel` is false.
[[nodiscard]] bool needs_lowering(const Graph& graph, const std::function<bool(Op)>& has_kernel);

/// With every fused op for which `has_kernel` is false replaced by its lowering, also in scan
/// bodies.
[[nodiscard]] Graph lower(const Graph& graph, const std::function<bool(Op)>& has_kernel);

/// With every matmul whose only use is a bias [n] added to it, or an activation by code, as one
/// `linear`, also in scan bodies.
[[nodiscard]] Graph fuse_linear(const Graph& graph);

struct ChainRules {
    bool reductions = false;  ///< Also reduce_sum and reduce_max along the last axis.
    std::size_t most_nodes = 64;
    std::size_t most_operands = 6;
    std::int64_t longest_row = 65536;  ///< Longer ones are left to reductions of many workgroups.
};

/// With connected elementwise nodes as one `chain`: a node joins when all its users are in the
/// chain, so nothing is computed twice and only the chain's result is stored. A body holds
/// elementwise nodes, numbers, broadcasts, reshapes that add or drop leading axes of extent 1, and,
/// where the rules allow it, reductions of the chain's rows that keep their axis; every value of it
/// has one element for each of the result's, one for each row, or one at all. A shared value joins
/// no chain of every individual, numbers excepted. Single nodes stay as they are. Also in scan
/// bodies. The values do not change.
[[nodiscard]] Graph fuse_chains(const Graph& graph, const ChainRules& rules);

}  // namespace cambrian
