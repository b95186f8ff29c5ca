#include "cambrian/evolve/variation/layer_change.hpp"

#include <algorithm>
#include <type_traits>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/network/network.hpp"
#include "cambrian/evolve/genome/genome_layout.hpp"
#include "cambrian/evolve/genome/layer_traits.hpp"

namespace cambrian::evolve {

namespace {

/// The width of a layer of vectors for rows of another shape: of as many last axes as before.
/// 0: it takes no last axes.
std::int64_t width_for(std::int64_t width, const Shape& before, const Shape& after) {
    if (before.elements() == width) {
        return after.elements();
    }
    std::int64_t old_product = 1;
    std::int64_t product = 1;
    for (int axis = 1; axis <= std::min(before.rank(), after.rank()); ++axis) {
        old_product *= before[-axis];
        product *= after[-axis];
        if (old_product == width) {
            return product;
        }
    }
    return 0;
}

/// Layers that mix the elements of a row: more of them change what it gives for the others.
template <class L>
constexpr bool mixes_features =
    std::is_same_v<L, RmsNorm> || std::is_same_v<L, LayerNorm> || std::is_same_v<L, Softmax> ||
    std::is_same_v<L, Swiglu> || std::is_same_v<L, Kmeans>;

/// Sets the fields that say which rows a layer takes; false where its type cannot take others.
template <class L>
bool take_rows(L& layer, const Shape& before, const Shape& after, NewWeights added) {
    const auto set = [&](std::int64_t& width) {
        width = width_for(width, before, after);
        return width > 0;
    };
    if constexpr (is_pool<L>) {
        return true;
    } else if constexpr (std::is_same_v<L, BatchNorm>) {
        layer.features = after[0];
        return true;
    } else if constexpr (std::is_same_v<L, Dense>) {
        return set(layer.in);
    } else if constexpr (is_convolution<L>) {
        layer.in_channels = after[0];
        return layer.groups == 1;
    } else if constexpr (is_recurrent<L>) {
        layer.in = after.elements();
        return true;
    } else if constexpr (mixes_features<L>) {
        return added == NewWeights::fresh && set(layer.features);
    } else {
        return false;
    }
}

bool adapt(Slot& slot, const Shape& before, const Shape& after, NewWeights added) {
    // What is disabled passes on its input, which is not what its weights were made for.
    if (added == NewWeights::keep_function && !slot.enabled) {
        return false;
    }
    return std::visit([&](auto& layer) { return take_rows(layer, before, after, added); },
                      slot.layer.variant());
}

/// Resolves the layers from a slot on against the rows that reach them. Throws ShapeError.
bool adapt_after(Blueprint& blueprint, int slot, const std::vector<Shape>& shapes,
                 NewWeights added) {
    const int head = blueprint.grid.slots();
    Shape row = layer_at(blueprint, slot).output_shape(shapes[static_cast<std::size_t>(slot)]);
    for (int next = slot + 1; next <= head; ++next) {
        const auto index = static_cast<std::size_t>(next);
        if (row == shapes[index]) {
            return true;
        }
        if (next == head) {
            Slot last{.layer = blueprint.head};
            const bool fits = adapt(last, shapes[index], row, added);
            last.layer.resolve(row);
            blueprint.head = std::move(last.layer);
            return fits;
        }
        std::optional<Slot>& filled = blueprint.slots[index];
        if (!filled) {
            continue;
        }
        if (!adapt(*filled, shapes[index], row, added)) {
            return false;
        }
        filled->layer.resolve(row);
        row = filled->layer.output_shape(row);
    }
    return true;
}

}  // namespace

std::optional<Blueprint> with_changed_layer(const Blueprint& blueprint, int slot,
                                            const AnyLayer& layer, NewWeights added) {
    const std::vector<Shape> shapes = chain_shapes(blueprint);
    Blueprint changed = blueprint;
    AnyLayer& own = changed.slots[static_cast<std::size_t>(slot)]->layer;
    try {
        own = layer;
        own.resolve(shapes[static_cast<std::size_t>(slot)]);
        if (!adapt_after(changed, slot, shapes, added)) {
            return std::nullopt;
        }
        return Network(std::move(changed)).blueprint();
    } catch (const ShapeError&) {
        return std::nullopt;
    }
}

}  // namespace cambrian::evolve
