#pragma once

#include "cambrian/engine/layers/any_layer.hpp"

namespace cambrian {

/// The sequence form of any stateful layer: its steps one after another from zero state.
/// x [batch, time, row..] → [batch, time, output row..].
[[nodiscard]] Var scan_layer(const AnyLayer& layer, Var x, const LayerOperands& operands);

}  // namespace cambrian
