#pragma once

#include <cstddef>
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

/// Whether a text is a plain name: 1 to 60 small letters, digits and "_".
[[nodiscard]] bool is_plain_name(std::string_view text);

/// Whether every byte of a text belongs to a character of UTF-8 (RFC 3629).
[[nodiscard]] bool is_utf8(std::string_view text);

/// What a message shows of a text that may be anything: at most `longest` bytes of it, "..." where
/// more were, no control characters and nothing that is not UTF-8 ('?' stands for either).
[[nodiscard]] std::string shortened(std::string_view text, std::size_t longest = 200);

}  // namespace cambrian
