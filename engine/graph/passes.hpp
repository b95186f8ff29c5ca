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

/// With every fused op for which `has_kernel` is false replaced by its lowering, also in scan
/// bodies.
[[nodiscard]] Graph lower(const Graph& graph, const std::function<bool(Op)>& has_kernel);

}  // namespace cambrian
