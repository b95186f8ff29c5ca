#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

// Characters of UTF-8 and what the Unicode Standard says of them.
namespace cambrian::unicode {

/// What a character is, as bits: the classes that expressions of pre-tokenizers ask for.
using Classes = std::uint8_t;
inline constexpr Classes letter = 1;  ///< \p{L}
inline constexpr Classes head = 2;    ///< [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]
inline constexpr Classes tail = 4;    ///< [\p{Ll}\p{Lm}\p{Lo}\p{M}]
inline constexpr Classes number = 8;  ///< \p{N}
inline constexpr Classes space = 16;  ///< \s
inline constexpr Classes word = 32;   ///< \w

[[nodiscard]] Classes classes(char32_t code);

/// A character at a place of a text.
struct Character {
    char32_t code = 0;
    std::size_t length = 0;  ///< Bytes; 0 where the text ends.
};
/// The character that begins at a byte of valid UTF-8; of length 0 at its end.
[[nodiscard]] Character character_at(std::string_view text, std::size_t at);
/// The character that ends before a byte of valid UTF-8; of length 0 at its start.
[[nodiscard]] Character character_before(std::string_view text, std::size_t at);
void append(std::string& text, char32_t code);
/// The characters of valid UTF-8, each once.
[[nodiscard]] std::set<char32_t> characters_of(std::string_view text);

/// Where the first byte stands that belongs to no character of UTF-8 (RFC 3629); the length of the
/// text where every one does.
[[nodiscard]] std::size_t valid_length(std::string_view bytes);
/// How many bytes at the end begin a character that further bytes may complete: at most 3.
[[nodiscard]] std::size_t unfinished_length(std::string_view bytes);
/// The bytes with U+FFFD in place of those that make no character, one for each longest beginning
/// of a character (as the Unicode Standard recommends in section 3.9).
[[nodiscard]] std::string repaired(std::string bytes);

/// Normalization Form C of valid UTF-8, in time O(n log n).
[[nodiscard]] std::string composed(std::string_view text);

}  // namespace cambrian::unicode
