#pragma once

#include "cambrian/engine/layers/support/layer.hpp"

namespace cambrian {

/// The names of discretizations in JSON.
[[nodiscard]] constexpr std::span<const std::string_view> choice_names(Discretization) {
    return discretization_names;
}

/// A block around a selective state space with D = expand · features channels of so many states.
struct Mamba {
    static constexpr std::string_view name = "mamba";
    static constexpr LayerText about{
        .summary =
            "A block around a selective state space with D = expand · features channels of so many "
            "states",
        .formula =
            "(u, z) = rms_norm(x) in_projᵀ; u = silu(causal_conv(u)); (dt, b, c) = u x_projᵀ\n"
            "y = selective_scan(u, dt dt_projᵀ + dt_bias, a_log, b, c, skip)\n"
            "output = x + (y · silu(z)) out_projᵀ",
        .source =
            "Gu and Dao, \"Mamba: Linear-Time Sequence Modeling with Selective State Spaces\", "
            "2023"};

    std::int64_t features = 0;
    std::int64_t state_size = 16;
    std::int64_t expand = 2;
    std::int64_t kernel = 4;
    std::int64_t dt_rank = 0;
    Discretization discretization = Discretization::zero_order_hold;
    float epsilon = 1e-6F;

    static constexpr auto fields = FieldTable{
        Field{"features", &Mamba::features, "0: all elements of a row"},
        Field{"state", &Mamba::state_size},
        Field{"expand", &Mamba::expand},
        Field{"kernel", &Mamba::kernel},
        Field{"dt_rank", &Mamba::dt_rank, "0: a sixteenth of the features, rounded up"},
        Field{"discretization", &Mamba::discretization,
              "zoh: zero-order hold; euler: what comes in is weighed by the step alone"}
            .later(),
        Field{"epsilon", &Mamba::epsilon, "Of the norm before the block."}.later(),
    };

    static Mamba example() {
        return {.features = 3, .state_size = 2, .expand = 2, .kernel = 3, .dt_rank = 1};
    }
    static std::optional<Mamba> fitted(const Shape& in, const Shape& out);

    /// What is wrong with the fields, or an empty text.
    [[nodiscard]] std::string_view fault() const;
    void resolve(const Shape& input);
    [[nodiscard]] Shape output_shape(const Shape& input) const { return input; }
    [[nodiscard]] std::vector<ParameterSpec> parameters() const;
    /// The last inputs of the filter, and the states of the scan.
    [[nodiscard]] std::vector<StateSpec> state() const;
    [[nodiscard]] StepResult step(Var x, std::span<const Var> state,
                                  const LayerOperands& operands) const;
    [[nodiscard]] Var sequence(Var x, const LayerOperands& operands) const;

    bool operator==(const Mamba&) const = default;

  private:
    [[nodiscard]] std::int64_t channels() const { return expand * features; }
};

}  // namespace cambrian
