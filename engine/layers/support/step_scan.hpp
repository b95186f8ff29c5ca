#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "cambrian/engine/layers/support/layer.hpp"

namespace cambrian {

/// States of zeros, [batch, ...] each.
[[nodiscard]] std::vector<Var> zero_state(Graph& graph, std::span<const StateSpec> state,
                                          std::int64_t batch);

/// A layer or a network that goes through sequences step by step: a scan from states of zeros,
/// whose body its user writes as one step.
class StepScan {
  public:
    /// @param x [batch, time, row..].
    /// @param training of the sequence; null: inference.
    StepScan(Var x, std::span<const StateSpec> state, TrainingPass* training);
    StepScan(const StepScan&) = delete;
    StepScan& operator=(const StepScan&) = delete;

    /// What a step reads: its rows [batch, elements] and states.
    [[nodiscard]] Var x() const { return x_; }
    [[nodiscard]] std::span<const Var> state() const { return state_; }
    /// In the body, what no step changes.
    [[nodiscard]] Var invariant(Var outer, std::string_view name = "invariant");
    [[nodiscard]] std::vector<Var> invariants(std::span<const Var> outer);
    /// Of one step; null: inference. To be asked for once.
    [[nodiscard]] TrainingPass* training();

    /// The scan. → what the steps gave [batch, time, ..]. Throws ShapeError with this text where a
    /// step has running statistics to update.
    [[nodiscard]] Var outputs(std::span<const Var> state, Var output, const char* refusal);

  private:
    Graph body_;
    std::int64_t time_ = 0;
    std::vector<Var> carries_, sequences_, invariants_;  ///< Outside.
    std::vector<Var> state_;
    Var x_;
    TrainingPass* of_sequence_ = nullptr;
    std::optional<Var> number_;  ///< Of the step.
    std::optional<TrainingPass> of_step_;
};

}  // namespace cambrian
