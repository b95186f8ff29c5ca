#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cambrian {

/// The candidate that a mistyped name most likely means: the one with the fewest insertions,
/// deletions, replacements and swaps of neighbours, if they are few (the first one among equals).
[[nodiscard]] std::optional<std::string_view> nearest_name(
    std::string_view name, std::span<const std::string_view> candidates);

/// What a message suggests for a name that is none of the candidates: `did you mean "x"?`, or
/// "use one of these" when nothing is near.
[[nodiscard]] std::string nearest_hint(std::string_view name,
                                       std::span<const std::string_view> candidates);
[[nodiscard]] std::string nearest_hint(std::string_view name,
                                       std::span<const std::string> candidates);

/// "a, b, c"
[[nodiscard]] std::string joined(std::span<const std::string_view> names);
[[nodiscard]] std::string joined(std::span<const std::string> names);

}  // namespace cambrian
