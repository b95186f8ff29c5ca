#pragma once

#include "cambrian/engine/graph/plan/liveness.hpp"

// Internal to engine/graph.
namespace cambrian {

/// Whether a node reads the elements of a root only where it writes its own result, so that the
/// result may lie in the very same elements: elementwise ops and fusion groups without reductions
/// that do not broadcast it.
[[nodiscard]] bool reads_in_place(const Graph& graph, const Liveness& live, const Node& node,
                                  ValueId root);

/// Whether the new content of an input may be written into it directly: by then nothing reads the
/// old one any more, or only the node that writes does, in place.
[[nodiscard]] bool replaces_directly(const Graph& graph, const Liveness& live,
                                     const Update& update);

}  // namespace cambrian
