#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cambrian::launch {

/// The candidate that a reader most likely meant (nearest_name), ignoring case and underscores;
/// nothing when all are too far off.
[[nodiscard]] std::optional<std::string> nearest(std::string_view word,
                                                 std::span<const std::string> candidates);

/// Equal but for case, underscores and dashes.
[[nodiscard]] bool same_word(std::string_view a, std::string_view b);

}  // namespace cambrian::launch
