#pragma once

#include "cambrian/engine/layers/layer.hpp"
#include "cambrian/engine/layers/width.hpp"

namespace cambrian {

/// Turns each row into probabilities.
///
///     y = exp(x − max(x)) / Σ exp(x − max(x))
struct Softmax {
    static constexpr std::string_view name = "softmax";

    std::string variant = "standard";
    std::int64_t features = 0;  ///< 0: all elements of a row.

    static constexpr auto fields = std::tuple{
        Field{"variant", &Softmax::variant},
        Field{"features", &Softmax::features},
    };

    static Softmax example() { return {.features = 5}; }
    static std::optional<Softmax> fitted(const Shape& in, const Shape& out) {
        if (in != out) return std::nullopt;
        return Softmax{.features = in.elements()};
    }

    /// What is wrong with the fields, or an empty text.
    [[nodiscard]] std::string_view fault() const {
        return variant == "standard" ? "" : "the only variant is \"standard\"";
    }
    void resolve(const Shape& input) {
        require_no_fault(name, fault());
        resolve_width(name, "features", features, input);
    }
    [[nodiscard]] Shape output_shape(const Shape& input) const { return input; }
    [[nodiscard]] std::vector<ParameterSpec> parameters() const { return {}; }

    [[nodiscard]] Var build(Var x, const LayerOperands& /*operands*/) const {
        return shaped(softmax(as_vectors(x, features)), x.shape());
    }

    bool operator==(const Softmax&) const = default;
};

}  // namespace cambrian
