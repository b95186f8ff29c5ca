#pragma once

#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/layers/support/layer.hpp"
#include "cambrian/engine/layers/support/width.hpp"

namespace cambrian {

/// Scales each row to unit root mean square, then by a learned gain.
struct RmsNorm {
    static constexpr std::string_view name = "rms_norm";
    static constexpr LayerText about{
        .summary = "Scales each row to unit root mean square, then by a learned gain",
        .formula = "y = x / sqrt(mean(x²) + epsilon) · gain",
        .source = "Zhang and Sennrich, \"Root Mean Square Layer Normalization\", 2019"};

    std::int64_t features = 0;
    float epsilon = 1e-6F;

    static constexpr auto fields = FieldTable{
        Field{"features", &RmsNorm::features, "0: all elements of a row"},
        Field{"epsilon", &RmsNorm::epsilon},
    };

    static RmsNorm example() { return {.features = 6}; }
    static std::optional<RmsNorm> fitted(const Shape& in, const Shape& out) {
        if (in != out) return std::nullopt;
        return RmsNorm{.features = in.elements()};
    }

    /// What is wrong with the fields, or an empty text.
    [[nodiscard]] std::string_view fault() const { return epsilon_fault(epsilon); }
    void resolve(const Shape& input) {
        require_no_fault(name, fault());
        resolve_width(name, "features", features, input);
    }
    [[nodiscard]] Shape output_shape(const Shape& input) const { return input; }

    [[nodiscard]] std::vector<ParameterSpec> parameters() const {
        return {{.name = "gain", .shape = {features}, .initial = Initial::ones}};
    }

    [[nodiscard]] Var build(Var x, const LayerOperands& operands) const {
        const Var rows = as_vectors(x, features, operands.row);
        return shaped(rms_norm(rows, operands.parameters[0], static_cast<double>(epsilon)),
                      x.shape());
    }

    bool operator==(const RmsNorm&) const = default;
};

}  // namespace cambrian
