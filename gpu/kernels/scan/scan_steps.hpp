#pragma once

#include <memory>

#include "cambrian/gpu/execution/kernel.hpp"

namespace cambrian::gpu {

/// A scan of any body: the body's dispatches recorded once for every step. Carries alternate
/// between two places; sequences, stacked results and invariants are read and written where they
/// are. All steps are walked: `alive_carry` only permits to stop earlier, and asking the device
/// would cost more.
[[nodiscard]] std::unique_ptr<Kernel> make_scan_steps(const KernelContext& context);

}  // namespace cambrian::gpu
