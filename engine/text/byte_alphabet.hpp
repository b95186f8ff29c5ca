#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// GPT-2's alphabet of bytes: printable characters of Latin-1 stand for themselves, the other bytes,
// in their order, are U+0100 and on. A space is "Ġ".
namespace cambrian::byte_alphabet {

[[nodiscard]] char32_t character_of(std::uint8_t byte);
/// The character as UTF-8.
[[nodiscard]] std::string_view text_of(std::uint8_t byte);
/// Bytes written in the alphabet.
[[nodiscard]] std::string written(std::string_view bytes);
/// The bytes of a text in the alphabet; nothing where it has other characters.
[[nodiscard]] std::optional<std::string> read(std::string_view text);

}  // namespace cambrian::byte_alphabet
