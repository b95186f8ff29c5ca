#pragma once

#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/layers/support/layer.hpp"
#include "cambrian/engine/layers/support/width.hpp"

namespace cambrian {

/// While training, drops elements by chance and scales the others so that the mean stays; the
/// identity otherwise.
struct Dropout {
    static constexpr std::string_view name = "dropout";
    static constexpr LayerText about{
        .summary =
            "While training, drops elements by chance and scales the others so that the mean "
            "stays; the identity otherwise",
        .formula = "y = x / (1 − rate) with probability 1 − rate, else 0",
        .source =
            "Srivastava et al., \"Dropout: A Simple Way to Prevent Neural Networks from "
            "Overfitting\", 2014"};

    float rate = 0.5F;

    static constexpr auto fields = FieldTable{Field{"rate", &Dropout::rate}};

    static Dropout example() { return {.rate = 0.25F}; }
    static Shape example_row() { return {4}; }
    static std::optional<Dropout> fitted(const Shape& in, const Shape& out) {
        if (in != out) return std::nullopt;
        return Dropout{};
    }

    /// What is wrong with the fields, or an empty text.
    [[nodiscard]] std::string_view fault() const {
        return rate >= 0.0F && rate < 1.0F ? "" : "rate is 0 to below 1";
    }
    void resolve(const Shape& /*input*/) const { require_no_fault(name, fault()); }
    [[nodiscard]] Shape output_shape(const Shape& input) const { return input; }
    [[nodiscard]] std::vector<ParameterSpec> parameters() const { return {}; }

    [[nodiscard]] Var build(Var x, const LayerOperands& operands) const {
        if (operands.training == nullptr) return x;
        TrainingPass& pass = *operands.training;
        return dropout(x, pass.next_key(), pass.id(), static_cast<double>(rate));
    }

    bool operator==(const Dropout&) const = default;
};

}  // namespace cambrian
