#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "cambrian/engine/network/builders/random_layers.hpp"

// Softmax layers drawn for rows. Internal to engine/network.
namespace cambrian {

/// A softmax of any variant whose fields suit the row.
[[nodiscard]] std::optional<AnyLayer> draw_softmax(LayerDraw& draw, const Shape& row, int depth);

}  // namespace cambrian
