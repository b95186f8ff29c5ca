#pragma once

#include <nlohmann/json_fwd.hpp>

#include "cambrian/engine/models/family.hpp"

// What families of transformers share: blocks of attention and of a gated layer with norms before
// them, and the names that the library transformers gives their tensors.
namespace cambrian::models {

/// What all families of such models have in common; each adds its name, its defaults, and what it
/// has beside.
[[nodiscard]] Family gated_transformer_family(std::string_view type, std::string_view architecture);
/// The row of the bias of what attention gives; empty where a family has none.
void add_output_bias(std::vector<TensorRow>& tensors, std::string_view theirs);

/// Heads that are not written follow from others; the base of rotary positions may stand in a list
/// of its own, and so does how they are scaled. Throws InputError for a scaling that is not known.
void complete_rotary(LanguageModel& model, const nlohmann::json& config);
/// The scaling, where there is one.
void write_rotary(const LanguageModel& model, nlohmann::ordered_json& config);

[[nodiscard]] std::vector<AnyLayer> gated_transformer(const LanguageModel& model);
/// As far as the attention of a model looks back: scaled positions see more than its config counts.
[[nodiscard]] std::int64_t window_of(const LanguageModel& model);
/// What a chain of such blocks may be, with its window for positions.
[[nodiscard]] std::optional<LanguageModel> describe_gated_blocks(std::span<const AnyLayer> chain);
/// The same with the positions that its window follows from. Throws ConfigError that names the
/// windows near it where it follows from none.
[[nodiscard]] std::optional<LanguageModel> describe_gated_transformer(
    std::span<const AnyLayer> chain);

/// The layer of a type within a residual of a chain, or null.
template <class L>
[[nodiscard]] const L* inner_layer(const AnyLayer& layer, std::size_t index) {
    const auto* residual = std::get_if<Residual>(&layer.variant());
    if (residual == nullptr || index >= residual->layers.size()) return nullptr;
    return std::get_if<L>(&residual->layers[index].variant());
}

}  // namespace cambrian::models
