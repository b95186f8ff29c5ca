#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cambrian {

/// Whether every byte of a text belongs to a character of UTF-8 (RFC 3629).
[[nodiscard]] bool is_utf8(std::string_view text);

/// What a message shows of a text that may be anything: at most `longest` bytes of it, "..." where
/// more were, no control characters and nothing that is not UTF-8 ('?' stands for either).
[[nodiscard]] std::string shortened(std::string_view text, std::size_t longest = 200);

}  // namespace cambrian
