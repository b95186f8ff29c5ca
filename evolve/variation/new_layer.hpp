#pragma once

#include <optional>
#include <string_view>

#include "cambrian/evolve/variation/mutation.hpp"

// Layers that mutation brings, with the fields that mutation.layers gives their types.
namespace cambrian::evolve {

/// A layer of a type between rows of two shapes, or nothing when the type, or the fields given for
/// it, cannot join them.
[[nodiscard]] std::optional<AnyLayer> new_layer(std::string_view type, const Shape& input,
                                                const Shape& output,
                                                const MutationSettings& settings);

/// The same as a layer that can be the identity on rows of a shape (identity_layer).
[[nodiscard]] std::optional<AnyLayer> new_identity(std::string_view type, const Shape& row,
                                                   const MutationSettings& settings);

/// Whether new layers are of a type, or have one of it in them. Mutations that programs and
/// plug-ins add may bring any.
[[nodiscard]] bool may_bring(const MutationSettings& settings, std::string_view type);

/// Throws ConfigError where a type is given fields twice, or fields with which no layer of it
/// stands anywhere.
void check_new_layers(const MutationSettings& settings);

}  // namespace cambrian::evolve
