#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cambrian/engine/layers/support/layer.hpp"

namespace cambrian {

class PackedWeights;

/// What a network reads at run time; each may be per individual.
struct NetworkOperands {
    Var weights;      ///< real [weight_count]; of a bytecode, packed [capacity.weights].
    Var activations;  ///< integer [activation_count] (at least one element); or a bytecode [words].
    Var enabled;      ///< boolean [slot_count] (at least one element); not read with a bytecode.
    TrainingPass* training = nullptr;  ///< None: inference, which is all that bytecodes do.
    /// Whether the weights are masters, which the graph rounds to the formats of their layers
    /// (LayerFormats) and which learn as if it did not. Else what makes the operands has rounded
    /// them.
    bool masters = false;
    /// Where large tensors stay in the codes of their formats, and the places of all: weights are
    /// its floats, and its words follow the activations. Null: all weights are numbers.
    std::shared_ptr<const PackedWeights> packed{};
    std::vector<Var>* cache_rows = nullptr;  ///< Of a pass over sequences, see LayerOperands.

    /// The same of a network in the body of a loop, whose inputs these are: without what is of the
    /// outer graph.
    [[nodiscard]] NetworkOperands inside(Var own_weights, Var own_activations,
                                         Var own_enabled) const {
        return {.weights = own_weights,
                .activations = own_activations,
                .enabled = own_enabled,
                .masters = masters,
                .packed = packed};
    }
};

/// Codes of activations or flags of slots as such an operand: of one element where there are none.
[[nodiscard]] Tensor code_operand(ValueType type, std::span<const std::int32_t> codes);

/// A network in a graph, whatever it is made of: nodes of its own (Network), or one op that
/// interprets a bytecode (BytecodeNetwork). Tasks are written against this and work with both.
class ForwardModel {
  public:
    virtual ~ForwardModel() = default;

    [[nodiscard]] virtual std::int64_t input_features() const = 0;
    /// Tensors carried from step to step, zero at the start of an episode or a sequence.
    [[nodiscard]] virtual std::span<const StateSpec> state() const = 0;
    [[nodiscard]] bool stateful() const { return !state().empty(); }

    /// x [.., input_features] → [.., output_features]; stateless networks only.
    [[nodiscard]] virtual Var apply(Var x, const NetworkOperands& operands) const = 0;
    /// x [batch, input_features], state [batch, ...] each.
    [[nodiscard]] virtual StepResult step(Var x, std::span<const Var> state,
                                          const NetworkOperands& operands) const = 0;
    /// x [batch, time, input_features] → [batch, time, output_features]: apply, or scan(step) from
    /// zero state.
    [[nodiscard]] virtual Var sequence(Var x, const NetworkOperands& operands) const;
    /// Zero state for a batch.
    [[nodiscard]] std::vector<Var> initial_state(Graph& graph, std::int64_t batch) const;

  protected:
    ForwardModel() = default;
    ForwardModel(const ForwardModel&) = default;
    ForwardModel(ForwardModel&&) = default;
    ForwardModel& operator=(const ForwardModel&) = default;
    ForwardModel& operator=(ForwardModel&&) = default;
};

/// Throws ShapeError unless x ends with an axis of that many features and has `rank` axes (0: any).
void check_network_input(Var x, std::int64_t features, int rank);

}  // namespace cambrian
