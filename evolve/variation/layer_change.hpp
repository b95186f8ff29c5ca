#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "cambrian/evolve/variation/weight_resize.hpp"

// Layers that change their fields, and what the rest of a network makes of it.
namespace cambrian::evolve {

/// The layer with more units (at least one more; heads, channels of mamba and the like count by
/// themselves), or nothing where its type cannot have more.
[[nodiscard]] std::optional<AnyLayer> widened(const AnyLayer& layer, std::int64_t units);
/// Why more units cannot keep the function of a network, or an empty text where they can if what
/// follows reads them by weights.
[[nodiscard]] std::string_view widening_fault(const AnyLayer& layer);

/// A layer that changes nothing of what another gives, with the same activation and a bias where
/// that has one, and its weights.
struct DeeperLayer {
    AnyLayer layer;
    std::vector<float> weights;
};
/// Nothing where there is none: see deepening_fault.
[[nodiscard]] std::optional<DeeperLayer> deeper(const AnyLayer& layer);
/// Why no layer of its kind changes nothing after it, or an empty text where one does.
[[nodiscard]] std::string_view deepening_fault(const AnyLayer& layer);

/// Lets the layer of a slot give way to another of its type and the layers after it take the rows
/// that it gives; those that keep the function of a network only where asked for.
/// Nothing where a layer cannot take them, or where the network would not build.
[[nodiscard]] std::optional<Blueprint> with_changed_layer(const Blueprint& blueprint, int slot,
                                                          const AnyLayer& layer, NewWeights added);

}  // namespace cambrian::evolve
