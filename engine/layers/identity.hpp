#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/layers/any_layer.hpp"

// Layers that compute what they are given, so that new structure preserves a network's function.
namespace cambrian {

/// Whether identity_parameters knows weights that make the layer the identity: a square linear
/// dense, or a residual whose last inner layer is a dense or a convolution with an activation that
/// keeps 0.
[[nodiscard]] bool can_be_identity(const AnyLayer& layer);

/// Those weights, in the order of parameters(): the unit matrix and no bias for a dense, which
/// draws nothing. Of a residual the weights of the last inner layer are zeros, and all before it
/// starts fresh: with zeros there, too, the gradient of both would be zero for good (as in "Fixup",
/// Zhang et al., 2019). That is the identity where what the inner layers give is finite.
/// ContractViolation when can_be_identity is false.
[[nodiscard]] std::vector<float> identity_parameters(const AnyLayer& layer, RandomStream& rng);

/// The unit matrix and no bias, for a square dense.
[[nodiscard]] std::vector<float> unit_parameters(const Dense& dense);

/// A layer of that type that can be the identity on rows of a shape; where the type itself cannot,
/// a residual of such a layer and a square_layer. Nothing when the type has no default between
/// equal shapes. Throws ConfigError for an unknown type.
[[nodiscard]] std::optional<AnyLayer> identity_layer(std::string_view type, const Shape& row);

}  // namespace cambrian
