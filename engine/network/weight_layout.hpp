#pragma once

#include <cstdint>

#include "cambrian/engine/network/blueprint.hpp"

namespace cambrian {

/// The weights of one part of a network that has genes: a filled slot, the head, or a link.
struct WeightBlock {
    int slot = -1;  ///< Slot index, slots() for the head, -1 for a link.
    int link = -1;  ///< Index into blueprint.links, or -1.
    std::int64_t offset = 0;
    std::int64_t count = 0;
    bool operator==(const WeightBlock&) const = default;
};

/// The order of the weight vector: filled slots by index, the head, links. Calls
/// `found(WeightBlock)` for each; `layer_weights(AnyLayer)` and `link_weights(index)` say how many
/// weights a part has.
template <typename LayerWeights, typename LinkWeights, typename Found>
void lay_out_weights(const Blueprint& blueprint, LayerWeights layer_weights,
                     LinkWeights link_weights, Found found) {
    std::int64_t offset = 0;
    const auto add = [&](int slot, int link, std::int64_t count) {
        found(WeightBlock{.slot = slot, .link = link, .offset = offset, .count = count});
        offset += count;
    };
    for (std::size_t slot = 0; slot < blueprint.slots.size(); ++slot)
        if (const auto& filled = blueprint.slots[slot])
            add(static_cast<int>(slot), -1, layer_weights(filled->layer));
    add(static_cast<int>(blueprint.slots.size()), -1, layer_weights(blueprint.head));
    for (std::size_t link = 0; link < blueprint.links.size(); ++link)
        add(-1, static_cast<int>(link), link_weights(link));
}

/// A link between equal widths has a gain for every element, else a projection.
[[nodiscard]] inline Shape link_weight_shape(std::int64_t source, std::int64_t target) {
    return source == target ? Shape{target} : Shape{target, source};
}

}  // namespace cambrian
