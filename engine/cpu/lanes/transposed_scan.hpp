#pragma once

#include <cstdint>
#include <memory>

#include "cambrian/engine/cpu/execution/kernel.hpp"

namespace cambrian::cpu {

/// Words that a body has for an individual, with all that enters and leaves it, to run transposed.
inline constexpr std::int64_t max_transposed_words = 2048;

/// The kernel of a scan whose body runs transposed (see transposed_graph.hpp), or null where it
/// cannot: an op it has no kernel for, values that all individuals share but are computed, or a
/// block that is too large for the cache.
/// @param plain makes the kernel that runs few individuals, which would leave vectors empty.
[[nodiscard]] std::unique_ptr<Kernel> make_transposed_scan(
    const KernelContext& context, std::unique_ptr<Kernel> (*plain)(const KernelContext& context));

}  // namespace cambrian::cpu
