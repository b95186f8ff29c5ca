#include "cambrian/engine/network/network_check.hpp"

#include <string>
#include <tuple>
#include <utility>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/layers/chain.hpp"
#include "cambrian/engine/layers/support/width.hpp"
#include "cambrian/engine/network/weight_layout.hpp"

namespace cambrian::network_check {

namespace {

std::string place_text(const Blueprint& blueprint, int slot) {
    if (slot == blueprint.grid.slots()) return "the head";
    const auto [z, y, x, l] = blueprint.grid.coordinates(slot);
    return "slot " + std::to_string(slot) + " at [" + std::to_string(z) + ", " + std::to_string(y) +
           ", " + std::to_string(x) + ", " + std::to_string(l) + "]";
}

void check_width(const char* what, std::int64_t width) {
    if (width >= 1 && width <= widest_layer) return;
    throw ShapeError("the network has " + std::to_string(width) + " " + what + " features (1 to " +
                     std::to_string(widest_layer) + " are possible) change the task");
}

bool is_filled(const Blueprint& blueprint, int slot) {
    return slot >= 0 && slot < blueprint.grid.slots() &&
           blueprint.slots[static_cast<std::size_t>(slot)].has_value();
}

}  // namespace

void sizes(const Blueprint& blueprint) {
    check(blueprint.grid);
    if (blueprint.slots.size() != static_cast<std::size_t>(blueprint.grid.slots()))
        throw ShapeError("the blueprint has " + std::to_string(blueprint.slots.size()) +
                         " slots (its grid has " + std::to_string(blueprint.grid.slots()) +
                         ") give one entry for each slot");
    check_width("input", blueprint.input_features);
    check_width("output", blueprint.output_features);
    const Shape row = input_row(blueprint);
    if (row.elements() != blueprint.input_features)
        throw ShapeError("the network sees its input as " + rows_of(row) + " (the task gives " +
                         std::to_string(blueprint.input_features) +
                         " features) choose an input of as many elements");
}

void ChainShape::fit(AnyLayer& layer, bool enabled) const {
    if (nesting(layer) > deepest_nesting)
        throw ShapeError("layers are nested too deeply (at most " +
                         std::to_string(deepest_nesting) + " levels) use fewer containers");
    if (adds_preceding_input(layer)) check_preceding(preceding_ ? &*preceding_ : nullptr, shape_);
    layer.resolve(shape_);
    const Shape output = layer.output_shape(shape_);
    if (!enabled && output.elements() != shape_.elements())
        throw ShapeError("a disabled layer must keep the width (it takes " + rows_of(shape_) +
                         " and gives " + rows_of(output) + ") enable it");
}

void ChainShape::pass(int slot, AnyLayer& layer, bool enabled) {
    try {
        fit(layer, enabled);
    } catch (const ShapeError& error) {
        throw ShapeError(place_text(blueprint_, slot) + " (" + std::string(layer.type()) +
                         "): " + error.what());
    }
    preceding_ = std::exchange(shape_, layer.output_shape(shape_));
}

void ChainShape::finish() const {
    if (shape_.elements() == blueprint_.output_features) return;
    throw ShapeError("the head (" + std::string(blueprint_.head.type()) + ") gives " +
                     rows_of(shape_) + " (the task needs " + rows_of(blueprint_.output_features) +
                     ") leave its output width out or end with a dense layer");
}

std::optional<std::string_view> link_fault(const Blueprint& blueprint, const Link& link) {
    const bool target_is_head = link.target == blueprint.grid.slots();
    if (link.kind == LinkKind::backward) {
        if (!is_filled(blueprint, link.source)) return "a backward link starts at a filled slot";
        if (!is_filled(blueprint, link.target)) return "a backward link ends at a filled slot";
        if (link.source < link.target) return "a backward link runs against the index order";
        return std::nullopt;
    }
    if (link.source != input_port && !is_filled(blueprint, link.source))
        return "a forward link starts at the input or at a filled slot";
    if (!target_is_head && !is_filled(blueprint, link.target))
        return "a forward link ends at a filled slot or at the head";
    if (link.source >= link.target) return "a forward link runs with the index order";
    return std::nullopt;
}

void clocks(const Blueprint& blueprint) {
    if (blueprint.mode == NetworkMode::mesh) return;
    for (int slot = 0; slot < blueprint.grid.slots(); ++slot) {
        const std::optional<Slot>& filled = blueprint.slots[static_cast<std::size_t>(slot)];
        if (filled && !filled->clocked)
            throw ShapeError(place_text(blueprint, slot) +
                             " has no clock (slots of a chain have none to be without) remove "
                             "\"clocked\", or choose the mode mesh");
    }
}

void links(const Blueprint& blueprint) {
    const Link* before = nullptr;
    for (const Link& link : blueprint.links) {
        const auto fail = [&link](std::string_view why, std::string_view suggestion) {
            throw ShapeError("the link from " + std::to_string(link.source) + " to " +
                             std::to_string(link.target) + " is not possible (" + std::string(why) +
                             ") " + std::string(suggestion));
        };
        if (const auto why = link_fault(blueprint, link)) fail(*why, "change its ends or its kind");
        const auto order = [](const Link& l) { return std::tuple(l.source, l.target, l.kind); };
        if (before != nullptr && !(order(*before) < order(link)))
            fail("links are sorted by source, target and kind, no two equal", "sort the links");
        before = &link;
    }
}

ParameterSpec link_parameter(const Blueprint& blueprint, std::span<const Shape> shapes,
                             const Link& link) {
    const std::int64_t source = link.source == input_port
                                    ? blueprint.input_features
                                    : shapes[static_cast<std::size_t>(link.source) + 1].elements();
    const std::int64_t target = shapes[static_cast<std::size_t>(link.target)].elements();
    return {.name = source == target ? "gain" : "projection",
            .shape = link_weight_shape(source, target),
            .initial = Initial::zeros};
}

std::vector<int> carried_outputs(const Blueprint& blueprint) {
    std::vector<int> sources;
    if (blueprint.mode == NetworkMode::mesh) {
        for (std::size_t slot = 0; slot < blueprint.slots.size(); ++slot)
            if (blueprint.slots[slot]) sources.push_back(static_cast<int>(slot));
        return sources;
    }
    for (const Link& link : blueprint.links) {
        if (link.kind == LinkKind::backward && (sources.empty() || sources.back() != link.source))
            sources.push_back(link.source);
    }
    return sources;
}

std::vector<int> carried_inputs(const Blueprint& blueprint) {
    std::vector<int> slots;
    if (blueprint.mode == NetworkMode::chain) return slots;
    int before = -1;
    for (std::size_t slot = 0; slot < blueprint.slots.size(); ++slot) {
        if (!blueprint.slots[slot]) continue;
        if (before >= 0 && blueprint.slots[slot]->clocked &&
            adds_preceding_input(blueprint.slots[slot]->layer))
            slots.push_back(before);
        before = static_cast<int>(slot);
    }
    return slots;
}

}  // namespace cambrian::network_check
