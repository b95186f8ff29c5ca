#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace cambrian {

/// The candidate that a mistyped name most likely means: the one with the fewest insertions,
/// deletions, replacements and swaps of neighbours, if they are few (the first one among equals).
[[nodiscard]] std::optional<std::string_view> nearest_name(
    std::string_view name, std::span<const std::string_view> candidates);

}  // namespace cambrian
