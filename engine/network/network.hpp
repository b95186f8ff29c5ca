#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/core/hash.hpp"
#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/network/blueprint.hpp"
#include "cambrian/engine/network/forward_model.hpp"
#include "cambrian/engine/network/weight_layout.hpp"

namespace cambrian {

/// Where one parameter tensor lies in the weight vector of a network. Its name is
/// Network::weight_name: made on demand, since a network is built far more often than printed.
struct WeightRange {
    int slot = -1;  ///< Slot index, slots() for the head, -1 for a link.
    int link = -1;  ///< Link index, or -1.
    ParameterSpec parameter;
    std::int64_t offset = 0;
    std::int64_t count = 0;
};

/// A checked blueprint: a network that was built runs. Slots in index order, then the head, then
/// links, give the order of weights; activation genes likewise (slots, head).
class Network final : public ForwardModel {
  public:
    /// Resolves and checks every shape, link end and width. Throws ShapeError naming slot, layer
    /// and both shapes.
    explicit Network(Blueprint blueprint);

    [[nodiscard]] const Blueprint& blueprint() const { return blueprint_; }
    [[nodiscard]] std::span<const WeightRange> weights() const { return weights_; }
    /// Name of weights()[range]: "slot.3.weight", "slot.0.layers.1.bias", "link.0.gain",
    /// "head.weight".
    [[nodiscard]] std::string weight_name(std::size_t range) const;
    [[nodiscard]] std::int64_t weight_count() const { return weight_count_; }
    [[nodiscard]] std::int64_t activation_count() const { return activation_count_; }
    [[nodiscard]] std::int64_t slot_count() const { return blueprint_.grid.slots(); }
    /// Shape of a row of the chain before a slot (or before the head, for slot = slots()).
    [[nodiscard]] const Shape& shape_before(int slot) const {
        return shapes_[static_cast<std::size_t>(slot)];
    }
    /// After it; after the head for slot = slots().
    [[nodiscard]] const Shape& shape_after(int slot) const { return shape_before(slot + 1); }
    /// Whether a filled slot may be disabled (it gives as many elements as it takes).
    [[nodiscard]] bool can_disable(int slot) const;
    /// Networks with equal keys share a compiled graph: layer types, shapes, scalar fields and
    /// links, without weights, activations and enabled flags.
    [[nodiscard]] Hash128 structure_key() const;
    /// The smallest set that has the activations of all its layers: networks whose sets differ have
    /// different structure keys.
    [[nodiscard]] ActivationSet activation_set() const;
    [[nodiscard]] std::int64_t input_features() const override { return blueprint_.input_features; }
    /// States of recurrent layers, of backward links and of the slots of a mesh, zero at the start
    /// of an episode or a sequence.
    [[nodiscard]] std::span<const StateSpec> state() const override { return state_; }

    /// Run-time operands of this blueprint: activation codes (a single 0 without any), enabled
    /// flags (an empty slot counts as enabled).
    [[nodiscard]] std::vector<std::int32_t> activation_codes() const;
    [[nodiscard]] std::vector<std::int32_t> enabled_flags() const;
    /// Fresh weights (layers.md), one draw stream.
    [[nodiscard]] std::vector<float> initial_weights(RandomStream& rng) const;

    [[nodiscard]] Var apply(Var x, const NetworkOperands& operands) const override;
    [[nodiscard]] StepResult step(Var x, std::span<const Var> state,
                                  const NetworkOperands& operands) const override;
    /// Layer by layer where no link runs backward and a layer has a sequence form of its own, or
    /// statistics of all steps are trained.
    [[nodiscard]] Var sequence(Var x, const NetworkOperands& operands) const override;

  private:
    void resolve_layers();
    void lay_out();
    void add_range(const WeightBlock& block, ParameterSpec parameter);
    void add_state();

    Blueprint blueprint_;
    std::vector<WeightRange> weights_;
    std::vector<Shape> shapes_;  ///< Before every slot, before the head, after the head.
    std::vector<StateSpec> state_;
    std::int64_t weight_count_ = 0;
    std::int64_t activation_count_ = 0;
};

/// A network whose passes name what its slots and its head give, as captures (gradient.hpp) of the
/// graph or the scan's body that they write into; nodes and results are those of the network. A
/// graph takes one pass of a prefix.
class WatchedNetwork final : public ForwardModel {
  public:
    /// The network must outlive it.
    WatchedNetwork(const Network& network, std::string_view prefix)
        : network_(network), prefix_(prefix) {}

    [[nodiscard]] std::int64_t input_features() const override { return network_.input_features(); }
    [[nodiscard]] std::span<const StateSpec> state() const override { return network_.state(); }
    [[nodiscard]] Var apply(Var x, const NetworkOperands& operands) const override;
    [[nodiscard]] StepResult step(Var x, std::span<const Var> state,
                                  const NetworkOperands& operands) const override;
    [[nodiscard]] Var sequence(Var x, const NetworkOperands& operands) const override;

  private:
    const Network& network_;
    std::string prefix_;
};

/// "<prefix>slot.3", or "<prefix>head" for slot = head.
[[nodiscard]] std::string watched_name(std::string_view prefix, int slot, int head);

}  // namespace cambrian
