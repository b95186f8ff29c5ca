#pragma once

#include <memory>

#include "cambrian/gpu/execution/kernel.hpp"

namespace cambrian::gpu {

/// The kernel of a fusion group that reduces rows, which needs fast math: one workgroup for each
/// row, or for several short ones.
[[nodiscard]] std::unique_ptr<Kernel> make_fused_rows(const KernelContext& context);

}  // namespace cambrian::gpu
