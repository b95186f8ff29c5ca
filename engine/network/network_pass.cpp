#include <algorithm>
#include <string>
#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/graph/builders/arithmetic.hpp"
#include "cambrian/engine/graph/builders/rounding.hpp"
#include "cambrian/engine/graph/packed_rows.hpp"
#include "cambrian/engine/layers/chain.hpp"
#include "cambrian/engine/layers/support/width.hpp"
#include "cambrian/engine/network/network.hpp"
#include "cambrian/engine/network/network_check.hpp"
#include "cambrian/engine/network/network_tap.hpp"
#include "cambrian/engine/network/packed_weights.hpp"
#include "cambrian/engine/network/ties.hpp"
#include "cambrian/engine/network/weight_formats.hpp"

// The network as a graph.
namespace cambrian {

namespace {

/// Writes one pass through a network.
class Pass {
  public:
    /// @param sequences whether x is [batch, time, features], which layers take at once.
    /// @param tap between the slots; null: none.
    Pass(const Network& network, Var x, std::span<const Var> state, NetworkOperands operands,
         bool sequences, NetworkTap* tap)
        : network_(network),
          tap_(tap),
          blueprint_(network.blueprint()),
          head_(blueprint_.grid.slots()),
          first_link_(network.weights().size() - blueprint_.links.size()),
          operands_(std::move(operands)),
          sequences_(sequences),
          input_(shape_rows(x, 1, network.shape_before(0))),
          is_mesh_(blueprint_.mode == NetworkMode::mesh),
          activation_set_(network.activation_set()),
          carried_outputs_(network_check::carried_outputs(blueprint_)),
          carried_inputs_(network_check::carried_inputs(blueprint_)),
          inputs_(blueprint_.slots.size()),
          outputs_(blueprint_.slots.size()) {
        if (sequences_) return;
        CAMBRIAN_ASSERT(state.size() == network.state().size());
        previous_inputs_ = state.last(carried_inputs_.size());
        state = state.first(state.size() - carried_inputs_.size());
        previous_outputs_ = state.last(carried_outputs_.size());
        layer_state_ = state.first(state.size() - carried_outputs_.size());
    }

    StepResult run() {
        Var value = input_;
        for (int slot = 0; slot < head_; ++slot) {
            const auto& filled = blueprint_.slots[static_cast<std::size_t>(slot)];
            if (!filled) continue;
            is_clocked_ = is_mesh_ && filled->clocked;
            const bool delayed = is_clocked_ && before_ >= 0;
            if (delayed) value = remembered_output(before_);
            const Var input =
                with_links(slot, read({ReadKind::chain, slot, before_, delayed}, value));
            inputs_[static_cast<std::size_t>(slot)] = input;
            value = layer(slot, filled->layer, input);
            outputs_[static_cast<std::size_t>(slot)] = value;
            before_ = slot;
        }
        value = read({ReadKind::chain, head_, before_}, value);
        const Var output = layer(head_, blueprint_.head, with_links(head_, value));
        StepResult result{.output = vectors(output, head_), .state = std::move(new_state_)};
        for (const int slot : carried_outputs_)
            result.state.push_back(vectors(outputs_[static_cast<std::size_t>(slot)], slot));
        for (const int slot : carried_inputs_)
            result.state.push_back(
                as_vectors(inputs_[static_cast<std::size_t>(slot)], network_.shape_before(slot)));
        return result;
    }

  private:
    /// What the reader gets of a value.
    Var read(const SlotRead& which, Var value) {
        return tap_ == nullptr ? value : tap_->read(which, value);
    }

    /// A weight tensor: a slice of the weight vector, of masters rounded to its format.
    Var parameter(std::size_t range) const {
        const WeightRange& weights = network_.weights()[range];
        if (operands_.packed != nullptr) {
            const PackedWeights::Place& place = operands_.packed->places()[range];
            const Var value = place.packed
                                  ? unpacked(place)
                                  : slice(operands_.weights, 0, place.floats, weights.count);
            const Shape& shape = weights.parameter.shape;
            return value.shape() == shape ? value : reshape(value, shape);
        }
        Var part = slice(operands_.weights, 0, weights.offset, weights.count);
        if (operands_.masters)
            if (const auto encoded = encoded_range(blueprint_, weights)) {
                part = reshape(part, Shape{encoded->extents.rows, encoded->extents.columns});
                part = straight_through(
                    part, rounded_to(counted(part, *encoded), encoded->dtype, encoded->scales));
            }
        return reshape(part, weights.parameter.shape);
    }

    /// Masters of a tensor, of which those without effect count for no scale.
    static Var counted(Var masters, const EncodedRange& encoded) {
        if (encoded.disabled.empty()) return masters;
        Tensor disabled(ValueType::boolean, masters.shape());
        for (const std::int64_t number : encoded.disabled)
            disabled.elements[static_cast<std::size_t>(number)] = 1.0;
        Graph& graph = *masters.graph;
        return select(graph.constant(std::move(disabled)),
                      constant(graph, static_cast<double>(uncounted(row(encoded.dtype)))), masters);
    }

    /// A weight tensor of another layer.
    Var shared(const Tie& tie) const {
        const auto lent = std::ranges::find_if(network_.weights(), [&](const WeightRange& range) {
            return range.slot == tie.slot && range.parameter.name == tie.parameter;
        });
        CAMBRIAN_ASSERT(lent != network_.weights().end());
        return parameter(static_cast<std::size_t>(lent - network_.weights().begin()));
    }

    /// The numbers of a tensor in codes: nothing holds them where a product or a gather reads it.
    Var unpacked(const PackedWeights::Place& place) const {
        const std::int64_t rows = place.extents.rows;
        const auto part = [&](Var vector, std::int64_t first, std::int64_t width) {
            return reshape(slice(vector, 0, first, rows * width), Shape{rows, width});
        };
        const auto codes = [&](std::int64_t first, std::int64_t width) {
            return part(operands_.activations, operands_.packed->first_word() + first, width);
        };
        std::vector<Var> parts{codes(place.words, packed_words(*place.packed))};
        const std::int64_t groups = scales_of_row(*place.packed);
        if (groups > 0) parts.push_back(part(operands_.weights, place.floats, groups));
        if (const std::int64_t width = zero_point_words(*place.packed); width > 0)
            parts.push_back(codes(place.zero_points, width));
        return unpack(parts, *place.packed);
    }

    /// The rows that a layer computes with.
    Var rounded(int slot, const AnyLayer& any, Var input) const {
        const Dtype dtype = formats_of(blueprint_, slot).activations;
        if (dtype == Dtype::float32 || takes_ids(any)) return input;
        const Var rows = as_vectors(input, network_.shape_before(slot));
        return shaped(operands_.masters ? straight_through(rows, dtype) : rounded_to(rows, dtype),
                      input.shape());
    }

    static Var element(Var vector, std::int64_t index) {
        return reshape(slice(vector, 0, index, 1), Shape{});
    }

    static Var as_vectors(Var rows, const Shape& row) {
        return shape_rows(rows, row.rank(), flat(row));
    }

    /// The output of a slot with its rows as vectors.
    Var vectors(Var output, int slot) const {
        return as_vectors(output, network_.shape_after(slot));
    }

    /// What a slot gave in the previous step: vectors.
    Var previous_output(int slot) const {
        const auto found = std::ranges::find(carried_outputs_, slot);
        return previous_outputs_[static_cast<std::size_t>(found - carried_outputs_.begin())];
    }

    /// The same as rows.
    Var remembered_output(int slot) const {
        return shape_rows(previous_output(slot), 1, network_.shape_after(slot));
    }

    /// What an empty residual adds: the input that made its own.
    Var added_input(int slot) {
        const SlotRead which{ReadKind::skip, slot, before_, slot != head_ && is_clocked_};
        if (!which.delayed) return read(which, preceding_);
        const auto found = std::ranges::find(carried_inputs_, before_);
        return read(which,
                    previous_inputs_[static_cast<std::size_t>(found - carried_inputs_.begin())]);
    }

    /// What a link carries: vectors.
    Var source_value(const Link& link) {
        const Shape& row = network_.shape_before(0);
        SlotRead which{ReadKind::link, link.target, link.source};
        if (link.source == input_port)
            return read(which, shape_rows(input_, row.rank(), flat(row)));
        which.delayed = link.kind == LinkKind::backward || (is_mesh_ && link.target != head_);
        return read(which, which.delayed ? previous_output(link.source)
                                         : vectors(outputs_[static_cast<std::size_t>(link.source)],
                                                   link.source));
    }

    Var with_links(int slot, Var value) {
        for (std::size_t i = 0; i < blueprint_.links.size(); ++i) {
            const Link& link = blueprint_.links[i];
            if (link.target != slot) continue;
            const Var source = source_value(link);
            const Var weights = parameter(first_link_ + i);
            const Var carried = weights.rank() == 1 ? source * weights : project(source, weights);
            value = value + shaped(carried, value.shape());
        }
        return value;
    }

    /// The layer applied to its input, or the input where the slot is disabled.
    Var layer(int slot, const AnyLayer& any, Var input) {
        if (tap_ != nullptr) tap_->took(slot, input);
        Var output = computed(slot, any, input);
        preceding_ = input;
        if (slot != head_ && network_.can_disable(slot))
            output =
                select(element(operands_.enabled, slot), output, shaped(input, output.shape()));
        if (tap_ != nullptr) tap_->gave(slot, output);
        return output;
    }

    /// Says which weights are the running statistics that a layer updates, the layer's own first
    /// weights being `range`.
    void place_updates(std::size_t known, std::span<const Var> parameters, std::size_t range) {
        TrainingPass& training = *operands_.training;
        for (std::size_t i = known; i < training.updates().size(); ++i) {
            const Var buffer = training.updates()[i].buffer;
            const auto own =
                std::ranges::find_if(parameters, [&](Var value) { return value.id == buffer.id; });
            CAMBRIAN_ASSERT(own != parameters.end());
            training.place(i, range + static_cast<std::size_t>(own - parameters.begin()));
        }
    }

    Var computed(int slot, const AnyLayer& any, Var input) {
        if (adds_preceding_input(any)) return input + shaped(added_input(slot), input.shape());
        const std::size_t first_range = next_range_;
        std::vector<Var> parameters(any.parameters().size());
        for (Var& value : parameters) value = parameter(next_range_++);
        if (const std::optional<Tie> tie = tie_of(any)) parameters.push_back(shared(*tie));
        std::vector<Var> activations(any.activations().size());
        for (Var& code : activations) code = element(operands_.activations, next_activation_++);
        // What a disabled slot computes is not used: it has nothing to learn from.
        const bool learns =
            slot == head_ || blueprint_.slots[static_cast<std::size_t>(slot)]->enabled;
        const LayerOperands own{.parameters = parameters,
                                .activations = activations,
                                .row = network_.shape_before(slot),
                                .training = learns ? operands_.training : nullptr,
                                .cache_rows = operands_.cache_rows,
                                .activation_set = activation_set_};
        const std::size_t updates = own.training == nullptr ? 0 : own.training->updates().size();
        const Var output = output_of(any, rounded(slot, any, input), own);
        if (own.training != nullptr) place_updates(updates, parameters, first_range);
        return output;
    }

    Var output_of(const AnyLayer& any, Var rows, const LayerOperands& own) {
        if (sequences_) return any.sequence(rows, own);
        const std::size_t states = any.state().size();
        StepResult step = any.step(rows, layer_state_.subspan(new_state_.size(), states), own);
        CAMBRIAN_ENSURE(step.state.size() == states);
        new_state_.insert(new_state_.end(), step.state.begin(), step.state.end());
        return step.output;
    }

    const Network& network_;
    NetworkTap* tap_ = nullptr;
    const Blueprint& blueprint_;
    int head_ = 0;
    std::size_t first_link_ = 0;
    NetworkOperands operands_;
    bool sequences_ = false;
    Var input_;
    bool is_mesh_ = false;
    ActivationSet activation_set_ = ActivationSet::any;
    bool is_clocked_ = false;  ///< The current slot.
    std::vector<int> carried_outputs_;
    std::vector<int> carried_inputs_;
    std::vector<Var> inputs_;
    std::vector<Var> outputs_;
    std::span<const Var> layer_state_;
    std::span<const Var> previous_outputs_;
    std::span<const Var> previous_inputs_;
    int before_ = -1;  ///< The filled slot before the current one.
    std::vector<Var> new_state_;
    Var preceding_;
    std::size_t next_range_ = 0;
    std::int64_t next_activation_ = 0;
};

/// Names what slots give.
class CaptureTap final : public NetworkTap {
  public:
    CaptureTap(std::string_view prefix, int head) : prefix_(prefix), head_(head) {}

    Var read(const SlotRead& /*read*/, Var value) override { return value; }
    void took(int /*slot*/, Var /*input*/) override {}
    void gave(int slot, Var output) override {
        output.graph->capture(watched_name(prefix_, slot, head_), output);
    }

  private:
    std::string_view prefix_;
    int head_;
};

/// Passes of a network, with a tap or without.
Var apply_to(const Network& network, Var x, const NetworkOperands& operands, NetworkTap* tap) {
    CAMBRIAN_ASSERT(!network.stateful());
    check_network_input(x, network.input_features(), 0);
    return Pass(network, x, {}, operands, false, tap).run().output;
}

StepResult step_of(const Network& network, Var x, std::span<const Var> state,
                   const NetworkOperands& operands, NetworkTap* tap) {
    check_network_input(x, network.input_features(), 2);
    return Pass(network, x, state, operands, false, tap).run();
}

/// Whether sequences of a network with a state go through it layer by layer.
bool takes_whole_sequences(const Network& network, const NetworkOperands& operands) {
    const auto gains = [&](const AnyLayer& layer) {
        return layer.prefers_sequences() || (operands.training != nullptr && layer.has_buffers());
    };
    const Blueprint& blueprint = network.blueprint();
    return network.stateful() && network_check::carried_outputs(blueprint).empty() &&
           (gains(blueprint.head) ||
            std::ranges::any_of(blueprint.slots, [&](const std::optional<Slot>& slot) {
                return slot && gains(slot->layer);
            }));
}

Var whole_sequence(const Network& network, Var x, const NetworkOperands& operands,
                   NetworkTap* tap) {
    check_network_input(x, network.input_features(), 3);
    return Pass(network, x, {}, operands, true, tap).run().output;
}

}  // namespace

Var Network::apply(Var x, const NetworkOperands& operands) const {
    return apply_to(*this, x, operands, nullptr);
}

StepResult Network::step(Var x, std::span<const Var> state, const NetworkOperands& operands) const {
    return step_of(*this, x, state, operands, nullptr);
}

Var Network::sequence(Var x, const NetworkOperands& operands) const {
    return takes_whole_sequences(*this, operands) ? whole_sequence(*this, x, operands, nullptr)
                                                  : ForwardModel::sequence(x, operands);
}

std::string watched_name(std::string_view prefix, int slot, int head) {
    return std::string(prefix) + (slot == head ? "head" : "slot." + std::to_string(slot));
}

Var WatchedNetwork::apply(Var x, const NetworkOperands& operands) const {
    CaptureTap tap(prefix_, network_.blueprint().grid.slots());
    return apply_to(network_, x, operands, &tap);
}

StepResult WatchedNetwork::step(Var x, std::span<const Var> state,
                                const NetworkOperands& operands) const {
    CaptureTap tap(prefix_, network_.blueprint().grid.slots());
    return step_of(network_, x, state, operands, &tap);
}

Var WatchedNetwork::sequence(Var x, const NetworkOperands& operands) const {
    if (!takes_whole_sequences(network_, operands)) return ForwardModel::sequence(x, operands);
    CaptureTap tap(prefix_, network_.blueprint().grid.slots());
    return whole_sequence(network_, x, operands, &tap);
}

bool reads_previous_step(const Blueprint& blueprint) {
    return !network_check::carried_outputs(blueprint).empty();
}

Var apply_tapped(const Network& network, Var x, const NetworkOperands& operands, NetworkTap& tap) {
    return apply_to(network, x, operands, &tap);
}

StepResult step_tapped(const Network& network, Var x, std::span<const Var> state,
                       const NetworkOperands& operands, NetworkTap& tap) {
    return step_of(network, x, state, operands, &tap);
}

Var sequence_tapped(const Network& network, Var x, const NetworkOperands& operands,
                    NetworkTap& tap) {
    CAMBRIAN_EXPECT(!reads_previous_step(network.blueprint()));
    return whole_sequence(network, x, operands, &tap);
}

}  // namespace cambrian
