#pragma once

#include <string>
#include <vector>

#include "cambrian/engine/text/tokenizer.hpp"
#include "cambrian/engine/text/tokenizer_definition.hpp"

namespace cambrian::test {

using Ids = std::vector<std::int64_t>;

/// Characters a to e and space, with merges by which "abcd" is "ab" "cd", and "e" alone; no
/// pre-tokenizer.
inline TokenizerDefinition letters() {
    TokenizerDefinition definition;
    for (const char* token : {" ", "a", "b", "c", "d", "e", "cd", "ab", "bc", "abc", "aa"})
        definition.vocabulary.push_back(
            {token, static_cast<std::int64_t>(definition.vocabulary.size())});
    definition.merges = {{"c", "d"}, {"a", "b"}, {"b", "c"}, {"ab", "c"}, {"a", "a"}};
    definition.decoders = {FuseDecoder{}};
    return definition;
}

inline AddedToken special(std::int64_t id, const std::string& content) {
    return {.id = id, .content = content, .normalized = false, .special = true};
}

/// Names of the tokens of a text.
inline std::vector<std::string> tokens(const Tokenizer& tokenizer, std::string_view text) {
    std::vector<std::string> names;
    for (const std::int64_t id : tokenizer.encode(text)) names.emplace_back(tokenizer.token(id));
    return names;
}

}  // namespace cambrian::test
