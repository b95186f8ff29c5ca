#include "cambrian/evolve/genome/structure_reader.hpp"

#include <bit>
#include <span>
#include <tuple>
#include <type_traits>
#include <variant>

namespace cambrian::evolve {

template <class Value>
void StructureReader::add_value(const Value& value) {
    if constexpr (std::is_same_v<Value, Activation>) {
        activations_.push_back(static_cast<std::int32_t>(value));
    } else if constexpr (std::is_same_v<Value, float>) {
        add(std::bit_cast<std::int32_t>(value));
    } else if constexpr (std::is_same_v<Value, AnyLayer>) {
        add_layer(value);
    } else if constexpr (std::is_integral_v<Value> || std::is_enum_v<Value>) {
        add(static_cast<std::int64_t>(value));
    } else {
        add(static_cast<std::int64_t>(value.size()));
        for (const auto& element : value) add_value(element);
    }
}

void StructureReader::add_layer(const AnyLayer& layer) {
    add(static_cast<std::int64_t>(layer.variant().index()));
    std::visit(
        [this](const auto& concrete) {
            std::apply([&](const auto&... field) { (add_value(concrete.*field.member), ...); },
                       std::remove_cvref_t<decltype(concrete)>::fields);
        },
        layer.variant());
}

Hash128 StructureReader::read(const Blueprint& blueprint) {
    words_.clear();
    add(blueprint.input_features);
    add(blueprint.output_features);
    add(blueprint.input_shape.rank());
    for (const std::int64_t extent : blueprint.input_shape.extents()) add(extent);
    add(static_cast<std::int64_t>(blueprint.mode));
    for (const int extent : {blueprint.grid.depth, blueprint.grid.rows, blueprint.grid.cols,
                             blueprint.grid.layers_per_cell})
        add(extent);
    for (const std::optional<Slot>& slot : blueprint.slots) {
        // -1 is no layer's number.
        if (slot)
            add_layer(slot->layer);
        else
            add(-1);
        enabled_.push_back(!slot || slot->enabled ? 1 : 0);
    }
    add_layer(blueprint.head);
    for (const Link& link : blueprint.links) {
        add(link.source);
        add(link.target);
        add(static_cast<std::int64_t>(link.kind));
    }
    return hash128(std::as_bytes(std::span(words_)));
}

void StructureReader::clear() {
    activations_.clear();
    enabled_.clear();
}

}  // namespace cambrian::evolve
