#pragma once

#include <memory>

#include "cambrian/engine/cpu/execution/nest.hpp"
#include "cambrian/gpu/kernels/step.hpp"

namespace cambrian::gpu {

/// A copy from the node's operand to its result over a nest (views: result, operand) whose inner
/// axes differ: through tiles in shared memory. Null where the nest is no such copy, or too thin
/// for tiles.
[[nodiscard]] std::unique_ptr<Step> make_transpose(const Site& site, const cpu::Nest& nest);

}  // namespace cambrian::gpu
