#pragma once

#include <cstdint>
#include <memory>

#include "cambrian/gpu/execution/kernel.hpp"

namespace cambrian::gpu {

struct Resources;

/// Copies a value of `elements` words, for each individual or once: also from a value that all
/// share to one for each, and between different strides. Null when the views are the same or there
/// is nothing to copy.
[[nodiscard]] std::unique_ptr<Kernel> make_view_copy(Resources& resources, const BufferView& target,
                                                     const BufferView& source,
                                                     std::int64_t elements, bool per_individual);

}  // namespace cambrian::gpu
