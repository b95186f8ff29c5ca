#include "cambrian/engine/network/structure_words.hpp"

#include <cstring>
#include <type_traits>
#include <variant>

#include "cambrian/engine/core/json/field_json.hpp"

namespace cambrian {

void StructureWords::add(Hash128 value) {
    add(value.high);
    add(value.low);
}

void StructureWords::add(std::string_view text) {
    add(static_cast<std::uint64_t>(text.size()));
    for (std::size_t start = 0; start < text.size(); start += sizeof(std::uint64_t)) {
        std::uint64_t word = 0;
        const std::string_view piece = text.substr(start, sizeof word);
        std::memcpy(&word, piece.data(), piece.size());
        add(word);
    }
}

template <class Value>
void StructureWords::add_field(const Value& value) {
    if constexpr (std::is_same_v<Value, Activation>) {
        if (!is_common(value)) activation_set_ = ActivationSet::any;
        if (genes_ == Genes::apart)
            activations_.push_back(static_cast<std::int32_t>(value));
        else
            add(static_cast<std::uint64_t>(value));
    } else if constexpr (std::is_enum_v<Value>) {
        add(static_cast<std::uint64_t>(value));
    } else if constexpr (field_json::Listed<Value>) {
        const auto one = [&](const auto& field) {
            if (field.addition <= later_) add_field(value.*field.member);
        };
        Value::fields([&](const auto&... field) { (one(field), ...); });
    } else if constexpr (requires { add(value); }) {
        add(value);
    } else {
        add(static_cast<std::uint64_t>(value.size()));
        for (const auto& element : value) add_field(element);
    }
}

void StructureWords::add(const AnyLayer& layer) {
    if (genes_ == Genes::apart)
        add(static_cast<std::uint64_t>(layer.variant().index()));
    else
        add(layer.type());
    if (const auto* custom = std::get_if<Custom>(&layer.variant())) {
        add(std::string_view(custom->plugin));
        if (genes_ == Genes::apart) add(layer.type());
        add(std::string_view(custom->text(genes_ == Genes::hashed)));
        for (const Activation activation : custom->activations()) {
            if (!is_common(activation)) activation_set_ = ActivationSet::any;
            if (genes_ == Genes::apart)
                activations_.push_back(static_cast<std::int32_t>(activation));
        }
    }
    std::visit(
        [this](const auto& concrete) {
            // Layers in a layer come before or after its fields, so each sets it anew.
            const int later = later_ = later_used(concrete);
            if (later > 0) add(std::string(static_cast<std::size_t>(later), '+'));
            const auto one = [&](const auto& field) {
                later_ = later;
                if (field.addition <= later) add_field(concrete.*field.member);
            };
            std::remove_cvref_t<decltype(concrete)>::fields(
                [&](const auto&... field) { (one(field), ...); });
        },
        layer.variant());
    if (layer.rules.plain()) return;
    // Said after the fields, by a mark that none of these begins with.
    add(std::string_view("*"));
    ParameterRules::fields(
        [&](const auto&... field) { (add_field(layer.rules.*field.member), ...); });
}

void StructureWords::add_slot(const std::optional<Slot>& slot) {
    const bool enabled = !slot || slot->enabled;
    const LayerFormats formats = slot ? hashed_part(slot->formats) : LayerFormats{};
    // What is plain keeps its word.
    const int mark = formats.is_plain() ? 0 : 8;
    if (genes_ == Genes::apart) {
        enabled_.push_back(enabled ? 1 : 0);
        add(mark + (!slot ? 0 : slot->clocked ? 1 : 2));
    } else {
        add(mark + (!slot ? 0 : (enabled ? 2 : 1) + (slot->clocked ? 0 : 2)));
    }
    if (mark != 0) add(formats);
    if (slot) add(slot->layer);
}

LayerFormats StructureWords::hashed_part(LayerFormats formats) const {
    // The numbers that codes stand for are weights to a program.
    if (genes_ == Genes::apart) {
        formats.weights = Dtype::float32;
        formats.scales = Scales::format;
    }
    return formats;
}

void StructureWords::add(const LayerFormats& formats) {
    add(static_cast<std::uint64_t>(formats.weights) | static_cast<std::uint64_t>(formats.scales)
                                                          << 8U);
    add(static_cast<std::uint64_t>(formats.activations));
}

void StructureWords::add(const Blueprint& blueprint) {
    activation_set_ = ActivationSet::common;
    add(blueprint.input_features);
    add(blueprint.output_features);
    add(blueprint.input_shape.rank());
    for (const std::int64_t extent : blueprint.input_shape.extents()) add(extent);
    add(static_cast<int>(blueprint.mode));
    const GridSize& grid = blueprint.grid;
    for (const int extent : {grid.depth, grid.rows, grid.cols, grid.layers_per_cell}) add(extent);
    for (const std::optional<Slot>& slot : blueprint.slots) add_slot(slot);
    add(blueprint.head);
    add(static_cast<std::uint64_t>(blueprint.links.size()));
    for (const Link& link : blueprint.links) {
        add(link.source);
        add(link.target);
        add(static_cast<std::uint64_t>(link.kind));
    }
    if (const LayerFormats head = hashed_part(blueprint.head_formats); !head.is_plain()) add(head);
    // A program is compiled for one set of activations.
    if (genes_ == Genes::apart) add(static_cast<std::uint64_t>(activation_set_));
}

Hash128 StructureWords::read(const Blueprint& blueprint) {
    words_.clear();
    add(blueprint);
    return hash();
}

void StructureWords::clear_genes() {
    activations_.clear();
    enabled_.clear();
}

}  // namespace cambrian
