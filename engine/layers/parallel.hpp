#pragma once

#include <cstddef>
#include <vector>

#include "cambrian/engine/layers/support/layer.hpp"

namespace cambrian {

class AnyLayer;

/// A layer or none, as a field: a list of at most one.
struct OptionalLayer {
    std::vector<AnyLayer> layer;

    [[nodiscard]] std::size_t size() const;
    [[nodiscard]] bool empty() const;
    [[nodiscard]] std::vector<AnyLayer>::const_iterator begin() const;
    [[nodiscard]] std::vector<AnyLayer>::const_iterator end() const;
    [[nodiscard]] std::vector<AnyLayer>::iterator begin();
    [[nodiscard]] std::vector<AnyLayer>::iterator end();
};

/// Layers side by side on the same input, whose outputs are combined.
/// Combines by `concat` along the first axis of their rows, `grid_scatter` element after element,
/// `add`, `average`, or `filter`, which weights each branch for each row by a gate.
struct Parallel {
    static constexpr std::string_view name = "parallel";
    static constexpr LayerText about{
        .summary = "Layers side by side on the same input, whose outputs are combined",
        .formula =
            "concat: y = [f_1(x), f_2(x), ..]\n"
            "add: y = Σ f(x)\n"
            "average: y = Σ f(x) / branches\n"
            "grid_scatter: y = all elements of f_1(x), then of f_2(x), ..\n"
            "filter: y = Σ w f(x), w = softmax(gate(x)), of the top_k largest where top_k is given",
        .source = "Shazeer et al., \"Outrageously Large Neural Networks\", 2017, for the gate"};

    std::vector<AnyLayer> branches;
    std::string combine = "concat";
    OptionalLayer gate;
    std::int64_t top_k = 0;

    static constexpr auto fields = FieldTable{
        Field{"branches", &Parallel::branches},
        Field{"combine", &Parallel::combine},
        Field{"gate", &Parallel::gate, "of filter: gives one number for each branch"},
        Field{"top_k", &Parallel::top_k, "of filter; 0: all branches"},
    };

    static Parallel example();
    /// The mean of two dense layers.
    static std::optional<Parallel> fitted(const Shape& in, const Shape& out);

    /// What is wrong with the fields, or an empty text.
    [[nodiscard]] std::string_view fault() const;
    void resolve(const Shape& input);
    /// Fills output widths of branches left at 0, where all branches are as wide as the output.
    void infer_output(std::int64_t width);
    [[nodiscard]] Shape output_shape(const Shape& input) const;
    [[nodiscard]] std::vector<ParameterSpec> parameters() const;
    /// Whether a branch or the gate is.
    [[nodiscard]] bool stateful() const;
    [[nodiscard]] std::vector<StateSpec> state() const;
    [[nodiscard]] Var build(Var x, const LayerOperands& operands) const;
    [[nodiscard]] StepResult step(Var x, std::span<const Var> state,
                                  const LayerOperands& operands) const;
    /// x [batch, time, row..].
    [[nodiscard]] Var sequence(Var x, const LayerOperands& operands) const;

    bool operator==(const Parallel& other) const;

  private:
    /// The branches, then the gate.
    [[nodiscard]] std::vector<const AnyLayer*> all() const;
    [[nodiscard]] Var combined(std::span<const Var> outputs, const Shape& input) const;
    [[nodiscard]] Var gate_weights(Var logits) const;
};

}  // namespace cambrian
