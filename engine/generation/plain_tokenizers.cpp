#include "cambrian/engine/generation/plain_tokenizers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/text/byte_alphabet.hpp"
#include "cambrian/engine/text/tokenizer_definition.hpp"
#include "cambrian/engine/text/unicode/unicode.hpp"

namespace cambrian {

Tokenizer byte_tokenizer() {
    TokenizerDefinition definition;
    for (std::int64_t byte = 0; byte < 256; ++byte)
        definition.vocabulary.push_back(
            {.token = std::string(byte_alphabet::text_of(static_cast<std::uint8_t>(byte))),
             .id = byte});
    definition.pre_tokenizers.emplace_back(
        ByteLevelPreTokenizer{.add_prefix_space = false, .use_regex = false});
    definition.decoders.emplace_back(ByteLevelDecoder{});
    return Tokenizer(std::move(definition), "the tokenizer of bytes");
}

Tokenizer character_tokenizer(std::span<const std::int64_t> characters) {
    TokenizerDefinition definition;
    for (const std::int64_t code : characters) {
        const bool surrogate = code >= 0xD800 && code < 0xE000;
        if (code < 0 || code > 0x10FFFF || surrogate)
            throw InputError(fmt::format(
                "{} is no character (code points are 0 to 1114111, without surrogates) use the "
                "network that was trained on characters",
                code));
        VocabularyEntry entry{.token = {},
                              .id = static_cast<std::int64_t>(definition.vocabulary.size())};
        unicode::append(entry.token, static_cast<char32_t>(code));
        definition.vocabulary.push_back(std::move(entry));
    }
    definition.decoders.emplace_back(FuseDecoder{});
    return Tokenizer(std::move(definition), "the tokenizer of characters");
}

std::vector<std::int64_t> characters_of(std::string_view text, std::string_view source) {
    if (const std::size_t valid = unicode::valid_length(text); valid < text.size())
        throw InputError(fmt::format(
            "{} is no text (byte {} belongs to no character of UTF-8) convert it, or use the "
            "tokenizer \"bytes\"",
            source, valid));
    std::set<std::int64_t> found;
    for (std::size_t at = 0; at < text.size();) {
        const unicode::Character character = unicode::character_at(text, at);
        found.insert(static_cast<std::int64_t>(character.code));
        at += character.length;
    }
    return {found.begin(), found.end()};
}

}  // namespace cambrian
