#pragma once

#include <memory>

#include "cambrian/gpu/kernels/step.hpp"

namespace cambrian::gpu {

/// The kernel of a chain that reduces rows, which needs fast math: one workgroup for each row, or
/// for several short ones.
[[nodiscard]] std::unique_ptr<Step> make_row_chain(const Site& site);

}  // namespace cambrian::gpu
