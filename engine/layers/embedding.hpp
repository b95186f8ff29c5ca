#pragma once

#include "cambrian/engine/layers/sequential.hpp"
#include "cambrian/engine/layers/support/layer.hpp"
#include "cambrian/engine/layers/support/width.hpp"

namespace cambrian {

/// The row of a table for each id.
/// Ids are integers, or numbers that count as the integer toward zero. A row of one id becomes one
/// vector, [n] ids become [n, features]. An id outside of the vocabulary is an InputError at run
/// time. With learned positions a row is one id, a step in time, and the n-th step adds row n of a
/// second table; a sequence longer than that table is a ShapeError, a step after its end an
/// InputError.
struct Embedding {
    static constexpr std::string_view name = "embedding";
    static constexpr LayerText about{
        .summary = "The row of a table for each id",
        .formula = "y = table[x], with positions + position_table[step]",
        .source =
            "Bengio et al., \"A Neural Probabilistic Language Model\", 2003; learned "
            "positions: Radford et al., GPT-2, 2019"};

    std::int64_t vocabulary = 0;
    std::int64_t features = 0;
    std::int64_t positions = 0;

    static constexpr auto fields = FieldTable{
        Field{"vocabulary", &Embedding::vocabulary},
        Field{"features", &Embedding::features, "0: told by what follows"},
        Field{"positions", &Embedding::positions,
              "steps of the longest sequence, each with a learned vector that is added; 0: none"}
            .later(),
    };

    static Embedding example() { return {.vocabulary = 5, .features = 3}; }
    static Shape example_row() { return {4}; }
    /// What a layer gives is no id, but whether an element is the largest of its row is one: a hard
    /// softmax before the table, a dense layer after it.
    static std::optional<Sequential> fitted(const Shape& in, const Shape& out);

    void resolve(const Shape& input);
    /// Fills an output width left at 0.
    void infer_output(std::int64_t width) {
        if (features == 0) features = width;
    }
    [[nodiscard]] Shape output_shape(const Shape& input) const {
        const auto ids = input.extents();
        return with_leading(input[-1] == 1 ? ids.first(ids.size() - 1) : ids, Shape{features});
    }

    [[nodiscard]] std::vector<ParameterSpec> parameters() const;
    [[nodiscard]] std::string_view fault() const {
        return positions < 0 || positions > widest_layer ? "positions is 0 to 16777216" : "";
    }

    /// Whether it has learned positions: a step has to know which one it is.
    [[nodiscard]] bool stateful() const { return positions > 0; }
    [[nodiscard]] bool prefers_sequence() const { return stateful(); }
    /// How many steps there were.
    [[nodiscard]] std::vector<StateSpec> state() const;
    /// Without positions.
    [[nodiscard]] Var build(Var x, const LayerOperands& operands) const;
    [[nodiscard]] StepResult step(Var x, std::span<const Var> state,
                                  const LayerOperands& operands) const;
    [[nodiscard]] Var sequence(Var x, const LayerOperands& operands) const;

    bool operator==(const Embedding&) const = default;
};

}  // namespace cambrian
