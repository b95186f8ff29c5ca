#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "cambrian/engine/text/tokenizer.hpp"

// Tokenizers without merges, for models of bytes and of characters.
namespace cambrian {

/// What tokens are called where rows of data have names.
inline constexpr std::string_view byte_unit = "byte";
inline constexpr std::string_view character_unit = "character";
inline constexpr std::string_view token_unit = "token";
/// Before a unit: what a row of a text is to tell.
inline constexpr std::string_view next_prefix = "next_";

/// 256 tokens: each byte of a text, which is UTF-8, by its value.
[[nodiscard]] Tokenizer byte_tokenizer();
/// A token for each of these characters (code points, each once), numbered as they stand. A text
/// with another one is an InputError. Throws InputError for what is no character, or there twice.
[[nodiscard]] Tokenizer character_tokenizer(std::span<const std::int64_t> characters);
/// The characters of a text in the order of their code points, each once. Throws InputError, naming
/// `source`, where it is not UTF-8.
[[nodiscard]] std::vector<std::int64_t> characters_of(std::string_view text,
                                                      std::string_view source);

}  // namespace cambrian
