#pragma once

#include <string>

#include "cambrian/gpu/execution/compiled_graph.hpp"

namespace cambrian::gpu {

/// The checks that a node's kernel makes: of the node itself, or of those in its body.
[[nodiscard]] StatusSite status_checks(const Graph& graph, const Node& node);

/// The error a pair of status words tells of, worded as on the CPU.
/// @param code not none.
[[nodiscard]] std::string status_message(const StatusSite& site, DataError code,
                                         std::int32_t index);

}  // namespace cambrian::gpu
