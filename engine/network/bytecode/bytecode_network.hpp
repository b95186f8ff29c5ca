#pragma once

#include <vector>

#include "cambrian/engine/network/bytecode/bytecode.hpp"
#include "cambrian/engine/network/forward_model.hpp"

namespace cambrian {

/// Any network whose bytecode fits a capacity, as one op of a graph: operands.activations is the
/// bytecode, integer [capacity.words], operands.weights the packed weights, [capacity.weights] or
/// more where networks share one vector and each bytecode says where its own begin. A graph made
/// with it never changes when networks mutate.
class BytecodeNetwork final : public ForwardModel {
  public:
    /// @param capacity as BytecodeCapacity::rounded gives it: multiples of four.
    BytecodeNetwork(std::int64_t input_features, std::int64_t output_features,
                    const BytecodeCapacity& capacity);

    [[nodiscard]] std::int64_t input_features() const override { return input_features_; }
    /// One tensor for all states there are, or none.
    [[nodiscard]] std::span<const StateSpec> state() const override { return state_; }
    [[nodiscard]] Var apply(Var x, const NetworkOperands& operands) const override;
    [[nodiscard]] StepResult step(Var x, std::span<const Var> state,
                                  const NetworkOperands& operands) const override;
    [[nodiscard]] const BytecodeCapacity& capacity() const { return capacity_; }

  private:
    [[nodiscard]] StepResult interpret(Var rows, Var state, const NetworkOperands& operands) const;

    std::int64_t input_features_;
    std::int64_t output_features_;
    BytecodeCapacity capacity_;
    std::vector<StateSpec> state_;
};

}  // namespace cambrian
