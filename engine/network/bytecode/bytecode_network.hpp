#pragma once

#include <vector>

#include "cambrian/engine/network/bytecode/bytecode.hpp"
#include "cambrian/engine/network/network_form.hpp"

namespace cambrian {

/// Any network whose tape fits a capacity, as one op of a graph: operands.activations is the tape,
/// integer [capacity.words], operands.weights the packed weights, [capacity.weights] or more where
/// networks share one vector and each tape says where its own begin. A graph made with it never
/// changes when networks mutate.
class TapeNetwork final : public NetworkForm {
  public:
    /// @param capacity as TapeCapacity::rounded gives it: multiples of four.
    TapeNetwork(std::int64_t input_features, std::int64_t output_features,
                const TapeCapacity& capacity);

    [[nodiscard]] std::int64_t input_features() const override { return input_features_; }
    /// One tensor for all states there are, or none.
    [[nodiscard]] std::span<const StateSpec> state() const override { return state_; }
    [[nodiscard]] Var apply(Var x, const NetworkOperands& operands) const override;
    [[nodiscard]] StepResult step(Var x, std::span<const Var> state,
                                  const NetworkOperands& operands) const override;
    [[nodiscard]] const TapeCapacity& capacity() const { return capacity_; }

  private:
    [[nodiscard]] StepResult interpret(Var rows, Var state, const NetworkOperands& operands) const;

    std::int64_t input_features_;
    std::int64_t output_features_;
    TapeCapacity capacity_;
    std::vector<StateSpec> state_;
};

}  // namespace cambrian
