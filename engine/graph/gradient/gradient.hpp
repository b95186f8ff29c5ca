#pragma once

#include <span>
#include <vector>

#include "cambrian/engine/graph/graph.hpp"

namespace cambrian {

/// Appends the gradients of `value` (any shape, weighted by `upstream` of the same shape) with
/// respect to each of `with_respect_to`; zeros where the value does not depend on one. Reverse
/// mode, graph to graph, from the op table; fused ops are differentiated through their lowering.
/// Nothing flows through piecewise constant ops, integers and booleans. Throws ShapeError when
/// value and upstream differ in shape or are not real.
[[nodiscard]] std::vector<Var> gradient(Var value, Var upstream,
                                        std::span<const Var> with_respect_to);
/// Of a rank-0 value, with upstream 1.
[[nodiscard]] std::vector<Var> gradient(Var value, std::span<const Var> with_respect_to);

/// Of several values at once: the gradients of the sum of all values, each weighted by its
/// upstream.
[[nodiscard]] std::vector<Var> gradient(std::span<const Var> values, std::span<const Var> upstream,
                                        std::span<const Var> with_respect_to);

}  // namespace cambrian
