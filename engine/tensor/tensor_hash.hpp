#pragma once

#include "cambrian/engine/core/hash.hpp"
#include "cambrian/engine/tensor/tensor.hpp"

namespace cambrian {

/// Of type, shape and elements.
[[nodiscard]] Hash128 content_hash(const Tensor& tensor);

}  // namespace cambrian
