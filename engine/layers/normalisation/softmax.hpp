#pragma once

#include "cambrian/engine/layers/support/layer.hpp"
#include "cambrian/engine/layers/support/width.hpp"

namespace cambrian {

/// Turns each row into probabilities, in one of ten ways.
/// All logits are divided by the temperature first.
///
/// - standard, temperature: the formula
/// - grid: of each row of a view [rows, cols]
/// - hierarchical: a tree with levels [l1, l2, ..]: one logit for each node, level by level; a leaf
///   has the product of the softmaxes among siblings on its path
/// - gumbel: with Gumbel noise while training; `hard`: one-hot, with the gradient of the soft one
///   (Jang et al., 2017)
/// - masked: over the elements where `mask` is true, 0 elsewhere
/// - sparse: the nearest point of the simplex, sparsemax (Martins and Astudillo, 2016)
/// - entmax: between softmax (alpha 1) and sparsemax (alpha 2) (Peters et al., 2019)
/// - adaptive: frequent classes in a head with one entry for each cluster of rare ones, which have
///   narrower tails; cutoffs [c0, c1, .., classes] (Grave et al., 2017)
/// - mixture: Σ π softmax(latent) over so many mixtures (Yang et al., 2018)
struct Softmax {
    static constexpr std::string_view name = "softmax";
    static constexpr LayerText about{
        .summary = "Turns each row into probabilities, in one of ten ways",
        .formula = "y = exp((x − max(x)) / temperature) / Σ exp((x − max(x)) / temperature)",
        .source = "Bridle, 1990; the variants: engine/layers/normalisation/softmax.hpp"};

    std::string variant = "standard";
    std::int64_t features = 0;
    float temperature = 1.0F;
    std::int64_t rows = 0;
    std::int64_t cols = 0;
    std::vector<std::int64_t> levels{};
    float alpha = 1.5F;
    std::vector<bool> mask{};
    bool hard = false;
    std::vector<std::int64_t> cutoffs{};
    std::int64_t mixtures = 0;
    std::int64_t classes = 0;

    static constexpr auto fields = FieldTable{
        Field{"variant", &Softmax::variant},
        Field{"features", &Softmax::features, "0: all elements of a row"},
        Field{"temperature", &Softmax::temperature},
        Field{"rows", &Softmax::rows, "of grid"},
        Field{"cols", &Softmax::cols, "of grid"},
        Field{"levels", &Softmax::levels, "of hierarchical"},
        Field{"alpha", &Softmax::alpha, "of entmax, 1 or from 1.01 to 2"},
        Field{"mask", &Softmax::mask, "of masked: one for each feature"},
        Field{"hard", &Softmax::hard, "of gumbel"},
        Field{"cutoffs", &Softmax::cutoffs, "of adaptive, ascending; the last is the classes"},
        Field{"mixtures", &Softmax::mixtures, "of mixture"},
        Field{"classes", &Softmax::classes, "of mixture; 0: told by what follows"},
    };

    static Softmax example() { return {.features = 5}; }
    /// One for each variant.
    static std::vector<Softmax> examples();
    static std::optional<Softmax> fitted(const Shape& in, const Shape& out) {
        if (in != out) return std::nullopt;
        return Softmax{.features = in.elements()};
    }

    /// What is wrong with the fields, or an empty text.
    [[nodiscard]] std::string_view fault() const;
    void resolve(const Shape& input);
    /// Fills the classes left at 0.
    void infer_output(std::int64_t width);
    [[nodiscard]] Shape output_shape(const Shape& input) const;
    [[nodiscard]] std::vector<ParameterSpec> parameters() const;
    [[nodiscard]] Var build(Var x, const LayerOperands& operands) const;

    bool operator==(const Softmax&) const = default;
};

}  // namespace cambrian
