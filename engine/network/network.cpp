#include "cambrian/engine/network/network.hpp"

#include <algorithm>
#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/layers/chain.hpp"
#include "cambrian/engine/layers/support/initial.hpp"
#include "cambrian/engine/layers/support/width.hpp"
#include "cambrian/engine/network/network_check.hpp"
#include "cambrian/engine/network/structure_words.hpp"
#include "cambrian/engine/network/ties.hpp"

namespace cambrian {

namespace {

/// More weights are refused, long before any index could overflow.
constexpr std::int64_t max_weights = std::int64_t{1} << 40U;

[[noreturn]] void refuse_weights() {
    throw ShapeError(
        "the network is too large (more than 2^40 weights) use fewer or narrower layers");
}

std::int64_t checked_elements(std::span<const ParameterSpec> parameters) {
    std::int64_t count = 0;
    for (const ParameterSpec& parameter : parameters) {
        count += parameter.shape.elements();
        if (count > max_weights) refuse_weights();
    }
    return count;
}

std::string owner_name(const WeightRange& range, int head) {
    if (range.link >= 0) return "link." + std::to_string(range.link);
    return range.slot == head ? "head" : "slot." + std::to_string(range.slot);
}

}  // namespace

Network::Network(Blueprint blueprint) : blueprint_(std::move(blueprint)) {
    network_check::sizes(blueprint_);
    network_check::clocks(blueprint_);
    resolve_layers();
    if (const std::string fault = tie_fault(blueprint_); !fault.empty())
        throw ShapeError(fault + " name a table or a weight of the same shape, or none");
    network_check::links(blueprint_);
    lay_out();
}

void Network::resolve_layers() {
    const int slots = blueprint_.grid.slots();
    shapes_.reserve(static_cast<std::size_t>(slots) + 2);
    network_check::ChainShape chain(blueprint_);
    for (int slot = 0; slot < slots; ++slot) {
        shapes_.push_back(chain.shape());
        auto& filled = blueprint_.slots[static_cast<std::size_t>(slot)];
        if (filled) chain.pass(slot, filled->layer, filled->enabled);
    }
    shapes_.push_back(chain.shape());
    chain.pass(slots, blueprint_.head, true);
    shapes_.push_back(chain.shape());
    chain.finish();
}

void Network::lay_out() {
    std::vector<ParameterSpec> parameters;
    const auto count = [&parameters](std::vector<ParameterSpec> specs) {
        parameters = std::move(specs);
        return checked_elements(parameters);
    };
    const auto link_weights = [&](std::size_t link) {
        return count({network_check::link_parameter(blueprint_, shapes_, blueprint_.links[link])});
    };
    lay_out_weights(
        blueprint_, [&](const AnyLayer& layer) { return count(layer.parameters()); }, link_weights,
        [&](const WeightBlock& block) {
            weight_count_ = block.offset;
            for (ParameterSpec& parameter : parameters) add_range(block, std::move(parameter));
            if (weight_count_ > max_weights) refuse_weights();
        });
    add_state();
}

void Network::add_range(const WeightBlock& block, ParameterSpec parameter) {
    WeightRange range{.slot = block.slot,
                      .link = block.link,
                      .parameter = std::move(parameter),
                      .offset = weight_count_};
    range.count = range.parameter.shape.elements();
    weight_count_ += range.count;
    weights_.push_back(std::move(range));
}

void Network::add_state() {
    const int head = blueprint_.grid.slots();
    const auto add_layer = [&](int slot, const AnyLayer& layer) {
        activation_count_ += static_cast<std::int64_t>(layer.activations().size());
        if (!layer.stateful()) return;
        for (StateSpec& state : layer.state()) {
            state.name =
                (slot == head ? "head" : "slot." + std::to_string(slot)) + "." + state.name;
            state_.push_back(std::move(state));
        }
    };
    for (int slot = 0; slot < head; ++slot) {
        const auto& filled = blueprint_.slots[static_cast<std::size_t>(slot)];
        if (filled) add_layer(slot, filled->layer);
    }
    add_layer(head, blueprint_.head);
    for (const int slot : network_check::carried_outputs(blueprint_))
        state_.push_back({.name = "slot." + std::to_string(slot) + ".previous_output",
                          .shape = flat(shape_after(slot))});
    for (const int slot : network_check::carried_inputs(blueprint_))
        state_.push_back({.name = "slot." + std::to_string(slot) + ".previous_input",
                          .shape = flat(shape_before(slot))});
}

std::string Network::weight_name(std::size_t range) const {
    CAMBRIAN_EXPECT(range < weights_.size());
    return owner_name(weights_[range], blueprint_.grid.slots()) + "." +
           weights_[range].parameter.name;
}

bool Network::can_disable(int slot) const {
    CAMBRIAN_EXPECT(slot >= 0 && slot < blueprint_.grid.slots());
    const auto& filled = blueprint_.slots[static_cast<std::size_t>(slot)];
    return filled && shape_after(slot).elements() == shape_before(slot).elements();
}

Hash128 Network::structure_key() const {
    return StructureWords(StructureWords::Genes::apart).read(blueprint_);
}

ActivationSet Network::activation_set() const {
    ActivationSet set = blueprint_.head.activation_set();
    for (const std::optional<Slot>& slot : blueprint_.slots)
        if (slot) set = std::max(set, slot->layer.activation_set());
    return set;
}

std::vector<std::int32_t> Network::activation_codes() const {
    StructureWords words(StructureWords::Genes::apart);
    words.add(blueprint_);
    std::vector<std::int32_t> codes = words.activations();
    if (codes.empty()) codes.push_back(0);
    return codes;
}

std::vector<std::int32_t> Network::enabled_flags() const {
    StructureWords words(StructureWords::Genes::apart);
    words.add(blueprint_);
    return words.enabled();
}

std::vector<float> Network::initial_weights(RandomStream& rng) const {
    std::vector<float> weights(static_cast<std::size_t>(weight_count_), 0.0F);
    for (const WeightRange& range : weights_) {
        const auto values = std::span(weights).subspan(static_cast<std::size_t>(range.offset),
                                                       static_cast<std::size_t>(range.count));
        fill_initial(range.parameter, rng, values);
    }
    return weights;
}

}  // namespace cambrian
