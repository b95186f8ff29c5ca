#include "cambrian/engine/generation/plain_tokenizers.hpp"

#include <fmt/format.h>

#include <set>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/text/training/tokenizer_training.hpp"
#include "cambrian/engine/text/unicode/unicode.hpp"

namespace cambrian {

Tokenizer byte_tokenizer() {
    return Tokenizer(byte_tokenizer({}), "the tokenizer of bytes");
}

Tokenizer character_tokenizer(std::span<const std::int64_t> characters) {
    std::vector<char32_t> codes;
    for (const std::int64_t code : characters) {
        const bool surrogate = code >= 0xD800 && code < 0xE000;
        if (code < 0 || code > 0x10FFFF || surrogate)
            throw InputError(fmt::format(
                "{} is no character (code points are 0 to 1114111, without surrogates) use the "
                "network that was trained on characters",
                code));
        codes.push_back(static_cast<char32_t>(code));
    }
    return Tokenizer(character_tokenizer(codes, {}), "the tokenizer of characters");
}

std::vector<std::int64_t> characters_of(std::string_view text, std::string_view source) {
    if (const std::size_t valid = unicode::valid_length(text); valid < text.size())
        throw InputError(fmt::format(
            "{} is no text (byte {} belongs to no character of UTF-8) convert it, or use the "
            "tokenizer \"bytes\"",
            source, valid));
    const std::set<char32_t> found = unicode::characters_of(text);
    return {found.begin(), found.end()};
}

}  // namespace cambrian
