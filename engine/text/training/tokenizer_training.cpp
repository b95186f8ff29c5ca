#include "cambrian/engine/text/training/tokenizer_training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/text/added_tokens.hpp"
#include "cambrian/engine/text/byte_alphabet.hpp"
#include "cambrian/engine/text/pre_tokenization.hpp"
#include "cambrian/engine/text/training/pair_counts.hpp"
#include "cambrian/engine/text/unicode/unicode.hpp"

namespace cambrian {
namespace {

constexpr std::int64_t byte_count = 256;

void require_utf8(std::string_view text) {
    if (const std::size_t valid = unicode::valid_length(text); valid < text.size())
        throw InputError(
            fmt::format("a text to learn from is not UTF-8 (byte {} belongs to no "
                        "character) convert it, as with iconv",
                        valid));
}

/// Special tokens with ids from the next free one on.
void add_special(TokenizerDefinition& definition, std::span<const std::string> special) {
    auto id = static_cast<std::int64_t>(definition.vocabulary.size());
    for (const std::string& content : special)
        definition.added.push_back(
            {.id = id++, .content = content, .normalized = false, .special = true});
}

TokenizerDefinition byte_level(bool words) {
    TokenizerDefinition definition;
    for (std::int64_t byte = 0; byte < byte_count; ++byte)
        definition.vocabulary.push_back(
            {std::string(byte_alphabet::text_of(static_cast<std::uint8_t>(byte))), byte});
    definition.pre_tokenizers.push_back(
        ByteLevelPreTokenizer{.add_prefix_space = false, .use_regex = words});
    definition.decoders.push_back(ByteLevelDecoder{});
    return definition;
}

/// The distinct words of texts in the order of their bytes. Special tokens are none.
std::vector<CountedWord> count_words(std::span<const std::string_view> texts,
                                     const TokenizerDefinition& definition,
                                     const AddedTokens& special) {
    std::vector<std::string_view> words;
    for (const std::string_view text : texts) {
        require_utf8(text);
        special.search(text, [&](const TextPiece& piece) {
            if (piece.token != nullptr) return;
            const Words found = pre_tokenize(definition.pre_tokenizers, piece.text, true);
            words.insert(words.end(), found.list.begin(), found.list.end());
        });
    }
    std::ranges::sort(words);
    std::vector<CountedWord> result;
    for (const std::string_view word : words) {
        if (result.empty() || result.back().word != word) result.push_back({word, 0});
        ++result.back().count;
    }
    return result;
}

}  // namespace

TokenizerDefinition train_byte_pairs(std::span<const std::string_view> texts,
                                     const TokenizerTraining& settings) {
    const auto room = settings.vocabulary - static_cast<std::int64_t>(settings.special.size());
    if (room < byte_count)
        throw ConfigError(fmt::format(
            "a vocabulary of {} has no room (256 bytes and {} special tokens come first) ask for "
            "more",
            settings.vocabulary, settings.special.size()));
    TokenizerDefinition definition = byte_level(true);
    TokenizerDefinition named;  // For the search alone.
    add_special(named, settings.special);
    std::vector<const AddedToken*> tokens;
    for (const AddedToken& token : named.added) tokens.push_back(&token);
    PairCounts counts(count_words(texts, definition, AddedTokens(tokens, settings.special)));

    std::vector<VocabularyEntry>& vocabulary = definition.vocabulary;
    std::map<std::string, std::uint32_t> ids;
    for (const VocabularyEntry& entry : vocabulary)
        ids.emplace(entry.token, static_cast<std::uint32_t>(entry.id));
    while (static_cast<std::int64_t>(vocabulary.size()) < room) {
        const SymbolPair pair = counts.largest_pair();
        if (pair.count < std::max<std::int64_t>(1, settings.min_count)) break;
        const TokenMerge merge{vocabulary[pair.left].token, vocabulary[pair.right].token};
        const auto next = static_cast<std::uint32_t>(vocabulary.size());
        // Two pairs may make the same token: it has one id, and both merges lead to it.
        const auto [token, is_new] = ids.emplace(merge.left + merge.right, next);
        if (is_new) vocabulary.push_back({token->first, next});
        definition.merges.push_back(merge);
        counts.merge(pair, token->second);
    }
    add_special(definition, settings.special);
    return definition;
}

TokenizerDefinition byte_tokenizer(std::span<const std::string> special) {
    TokenizerDefinition definition = byte_level(false);
    add_special(definition, special);
    return definition;
}

TokenizerDefinition character_tokenizer(std::span<const std::string_view> texts,
                                        std::span<const std::string> special) {
    std::set<char32_t> characters;
    for (const std::string_view text : texts) {
        require_utf8(text);
        characters.merge(unicode::characters_of(text));
    }
    if (characters.contains(0))
        throw InputError(
            "a text to learn from holds a NUL character (tokenizer.json may have none) take it "
            "out");
    return character_tokenizer(std::vector(characters.begin(), characters.end()), special);
}

TokenizerDefinition character_tokenizer(std::span<const char32_t> characters,
                                        std::span<const std::string> special) {
    TokenizerDefinition definition;
    for (const char32_t code : characters) {
        std::string token;
        unicode::append(token, code);
        definition.vocabulary.push_back(
            {std::move(token), static_cast<std::int64_t>(definition.vocabulary.size())});
    }
    definition.decoders.push_back(FuseDecoder{});
    add_special(definition, special);
    return definition;
}

}  // namespace cambrian
