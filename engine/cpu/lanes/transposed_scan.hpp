#pragma once

#include <cstdint>
#include <memory>

#include "cambrian/engine/cpu/execution/step.hpp"

namespace cambrian::cpu {

/// Words that a body has for an individual, with all that enters and leaves it, to run transposed.
inline constexpr std::int64_t most_transposed_words = 2048;

/// The step of a scan whose body runs transposed (see transposed_graph.hpp), or null where it
/// cannot: an op it has no step for, values that all individuals share but are computed, or a block
/// that is too large for the cache.
/// @param plain makes the step that runs few individuals, which would leave vectors empty.
[[nodiscard]] std::unique_ptr<Step> make_transposed_scan(
    const Site& site, std::unique_ptr<Step> (*plain)(const Site& site));

}  // namespace cambrian::cpu
