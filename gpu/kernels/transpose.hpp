#pragma once

#include <memory>

#include "cambrian/engine/tensor/nest.hpp"
#include "cambrian/gpu/execution/kernel.hpp"

namespace cambrian::gpu {

/// A copy from the node's operand to its result over a nest (views: result, operand) whose inner
/// axes differ: through tiles in shared memory. Null where the nest is no such copy, or too thin
/// for tiles.
[[nodiscard]] std::unique_ptr<Kernel> make_transpose(const KernelContext& context,
                                                     const Nest& nest);

}  // namespace cambrian::gpu
