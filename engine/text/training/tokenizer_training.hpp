#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/text/tokenizer_definition.hpp"

namespace cambrian {

struct TokenizerTraining {
    std::int64_t vocabulary = 4096;  ///< Tokens, special ones included: all 256 bytes and merges.
    std::int64_t min_count = 2;      ///< Pairs that stand more rarely in the texts stay two tokens.
    std::vector<std::string> special{"<|endoftext|>"};  ///< Get the last ids.
};

/// Byte-level byte-pair encoding learnt from texts, with GPT-2's words: ids 0 to 255 are the bytes;
/// then, again and again, the pair of tokens that stands most often side by side within words
/// becomes a token, of equally frequent ones that with the smallest ids. Stops sooner where no pair
/// is frequent enough. In time O(n log n) of the bytes of distinct words. Throws InputError for
/// texts that are not UTF-8, ConfigError where the vocabulary has no room for the bytes.
[[nodiscard]] TokenizerDefinition train_byte_pairs(std::span<const std::string_view> texts,
                                                   const TokenizerTraining& settings);

/// A token for each byte, its id the byte, and special tokens after them.
[[nodiscard]] TokenizerDefinition byte_tokenizer(std::span<const std::string> special);

/// A token for each character of the texts, in the order of their codes, and special tokens after
/// them. Other characters cannot be encoded. Throws InputError for texts that are not UTF-8.
[[nodiscard]] TokenizerDefinition character_tokenizer(std::span<const std::string_view> texts,
                                                      std::span<const std::string> special);
/// The same for these characters, numbered as they stand.
[[nodiscard]] TokenizerDefinition character_tokenizer(std::span<const char32_t> characters,
                                                      std::span<const std::string> special);

}  // namespace cambrian
