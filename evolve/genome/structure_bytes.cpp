#include "cambrian/evolve/genome/structure_bytes.hpp"

#include <tuple>
#include <type_traits>
#include <variant>

namespace cambrian::evolve {

namespace {

template <class Value>
void add_value(StructureBytes& bytes, const Value& value) {
    if constexpr (std::is_enum_v<Value>) {
        bytes.add(static_cast<std::uint64_t>(value));
    } else if constexpr (requires { bytes.add(value); }) {
        bytes.add(value);
    } else {
        bytes.add(static_cast<std::uint64_t>(value.size()));
        for (const auto& element : value) {
            add_value(bytes, element);
        }
    }
}

}  // namespace

void StructureBytes::add(Hash128 value) {
    add(value.high);
    add(value.low);
}

void StructureBytes::add(std::string_view text) {
    add(static_cast<std::uint64_t>(text.size()));
    for (std::size_t start = 0; start < text.size(); start += sizeof(std::uint64_t)) {
        std::uint64_t word = 0;
        const std::string_view piece = text.substr(start, sizeof word);
        std::memcpy(&word, piece.data(), piece.size());
        add(word);
    }
}

void StructureBytes::add(const AnyLayer& layer) {
    std::visit(
        [this](const auto& concrete) {
            using Concrete = std::remove_cvref_t<decltype(concrete)>;
            add(std::string_view(Concrete::name));
            std::apply(
                [this, &concrete](const auto&... field) {
                    (add_value(*this, concrete.*field.member), ...);
                },
                Concrete::fields);
        },
        layer.variant());
}

void StructureBytes::add(const Blueprint& blueprint) {
    add(blueprint.input_features);
    add(blueprint.output_features);
    add(blueprint.input_shape.rank());
    for (const std::int64_t extent : blueprint.input_shape.extents()) {
        add(extent);
    }
    add(static_cast<int>(blueprint.mode));
    add(blueprint.grid.depth);
    add(blueprint.grid.rows);
    add(blueprint.grid.cols);
    add(blueprint.grid.layers_per_cell);
    for (const std::optional<Slot>& slot : blueprint.slots) {
        add(slot ? (slot->enabled ? 2 : 1) : 0);
        if (slot) {
            add(slot->layer);
        }
    }
    add(blueprint.head);
    add(static_cast<std::uint64_t>(blueprint.links.size()));
    for (const Link& link : blueprint.links) {
        add(link.source);
        add(link.target);
        add(static_cast<std::uint64_t>(link.kind));
    }
}

}  // namespace cambrian::evolve
