#pragma once

#include "cambrian/engine/layers/normalisation/softmax.hpp"

// The table of softmax variants. Internal to engine/layers.
namespace cambrian {

/// One row of the table.
struct SoftmaxVariant {
    std::string_view name;
    /// What is wrong with the fields of this variant, or an empty text.
    std::string_view (*fault)(const Softmax& layer) = nullptr;
    /// The features that its fields ask for; 0: any number.
    std::int64_t (*features)(const Softmax& layer) = nullptr;
    /// What a vector of the features becomes.
    std::int64_t (*outputs)(const Softmax& layer) = nullptr;
    std::vector<ParameterSpec> (*parameters)(const Softmax& layer) = nullptr;
    /// x [.., features] → [.., outputs].
    Var (*build)(const Softmax& layer, Var x, const LayerOperands& operands) = nullptr;
};

[[nodiscard]] std::span<const SoftmaxVariant> softmax_variants();
/// Null for an unknown name.
[[nodiscard]] const SoftmaxVariant* softmax_variant(std::string_view name);

/// The nearest point of the simplex to each row.
[[nodiscard]] Var sparsemax(Var x);
/// Tsallis entropy's softmax for 1 < alpha < 2.
[[nodiscard]] Var entmax(Var x, double alpha);

}  // namespace cambrian
