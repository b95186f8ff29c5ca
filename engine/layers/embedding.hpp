#pragma once

#include "cambrian/engine/layers/sequential.hpp"
#include "cambrian/engine/layers/support/layer.hpp"
#include "cambrian/engine/layers/support/width.hpp"

namespace cambrian {

/// The row of a table for each id.
/// Ids are integers, or numbers that count as the integer toward zero. A row of one id becomes one
/// vector, [n] ids become [n, features]. An id outside of the vocabulary is an InputError at run
/// time.
struct Embedding {
    static constexpr std::string_view name = "embedding";
    static constexpr LayerText about{
        .summary = "The row of a table for each id",
        .formula = "y = table[x]",
        .source = "Bengio et al., \"A Neural Probabilistic Language Model\", 2003"};

    std::int64_t vocabulary = 0;
    std::int64_t features = 0;

    static constexpr auto fields = std::tuple{
        Field{"vocabulary", &Embedding::vocabulary},
        Field{"features", &Embedding::features, "0: told by what follows"},
    };

    static Embedding example() { return {.vocabulary = 5, .features = 3}; }
    static Shape example_row() { return {4}; }
    /// What a layer gives is no id, but whether an element is the largest of its row is one: a hard
    /// softmax before the table, a dense layer after it.
    static std::optional<Sequential> fitted(const Shape& in, const Shape& out);

    void resolve(const Shape& /*input*/) {
        require_range(name, "vocabulary", vocabulary);
        require_width(name, "features", features);
    }
    /// Fills an output width left at 0.
    void infer_output(std::int64_t width) {
        if (features == 0) features = width;
    }
    [[nodiscard]] Shape output_shape(const Shape& input) const {
        const auto ids = input.extents();
        return with_leading(input[-1] == 1 ? ids.first(ids.size() - 1) : ids, Shape{features});
    }

    [[nodiscard]] std::vector<ParameterSpec> parameters() const {
        return {{.name = "table",
                 .shape = {vocabulary, features},
                 .initial = Initial::weight,
                 .fan_in = features}};
    }

    [[nodiscard]] Var build(Var x, const LayerOperands& operands) const {
        const Var ids = x.info().type == ValueType::integer ? x : cast(x, ValueType::integer);
        return shaped(gather(operands.parameters[0], ids), output_shape(x.shape()));
    }

    bool operator==(const Embedding&) const = default;
};

}  // namespace cambrian
