#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

// What a tokenizer.json says, as plain values. Parts are named as they are there.
namespace cambrian {

/// A token of the vocabulary, by its name: for byte-level tokenizers in GPT-2's alphabet, which
/// writes every byte as a printable character.
struct VocabularyEntry {
    std::string token;
    std::int64_t id = 0;
    bool operator==(const VocabularyEntry&) const = default;
};

/// Two tokens that become one; the earlier in the list, the sooner.
struct TokenMerge {
    std::string left;
    std::string right;
    bool operator==(const TokenMerge&) const = default;
};

/// A token that is found in the text before anything else is done to it.
struct AddedToken {
    std::int64_t id = 0;
    std::string content;
    bool single_word = false;  ///< Only where no letter or digit stands beside it.
    bool lstrip = false;       ///< Takes the white space before it, too.
    bool rstrip = false;       ///< Takes the white space after it, too.
    bool normalized = true;    ///< Looked for in the normalised text.
    bool special = false;      ///< Stands for no text.
    bool operator==(const AddedToken&) const = default;
};

/// Normalizers: what is done to a text first.
struct NfcNormalizer {  ///< Canonical composition (Unicode Standard Annex 15).
    bool operator==(const NfcNormalizer&) const = default;
};
struct PrependNormalizer {  ///< Puts a text before one that is not empty.
    std::string prepend;
    bool operator==(const PrependNormalizer&) const = default;
};
struct ReplaceNormalizer {  ///< Every occurrence of a text by another.
    std::string pattern;
    std::string content;
    bool operator==(const ReplaceNormalizer&) const = default;
};
using Normalizer = std::variant<NfcNormalizer, PrependNormalizer, ReplaceNormalizer>;

/// What becomes of the matches of a Split, each beside what is between them.
enum class SplitBehavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

/// Pre-tokenizers: how a text is cut into words, within which tokens are merged.
struct ByteLevelPreTokenizer {  ///< Bytes in place of characters.
    bool add_prefix_space = true;
    bool trim_offsets = true;  ///< Of no effect on ids.
    bool use_regex = true;     ///< Cuts by GPT-2's expression.
    bool operator==(const ByteLevelPreTokenizer&) const = default;
};
struct SplitPreTokenizer {
    std::string pattern;
    bool regex = false;  ///< The pattern is one of the known expressions (text/split_rules.hpp).
    SplitBehavior behavior = SplitBehavior::isolated;
    bool invert = false;  ///< What is between matches is the match.
    bool operator==(const SplitPreTokenizer&) const = default;
};
struct DigitsPreTokenizer {
    bool individual_digits = false;
    bool operator==(const DigitsPreTokenizer&) const = default;
};
enum class PrependScheme { first, never, always };
struct MetaspacePreTokenizer {  ///< A visible character in place of spaces (SentencePiece).
    std::string replacement = "\xE2\x96\x81";
    PrependScheme prepend_scheme = PrependScheme::always;
    bool split = true;
    bool operator==(const MetaspacePreTokenizer&) const = default;
};
using PreTokenizer = std::variant<ByteLevelPreTokenizer, SplitPreTokenizer, DigitsPreTokenizer,
                                  MetaspacePreTokenizer>;

/// One place of the template that surrounds a text: a special token, or nothing for the text.
using TemplatePart = std::optional<std::string>;
/// A name in the template and the ids it stands for.
struct TemplateToken {
    std::string name;
    std::vector<std::int64_t> ids;
    bool operator==(const TemplateToken&) const = default;
};
struct Template {
    std::vector<TemplatePart> single;
    std::vector<TemplateToken> tokens;
    bool operator==(const Template&) const = default;
};

/// Decoders: how names of tokens become a text again.
struct ByteLevelDecoder {
    bool operator==(const ByteLevelDecoder&) const = default;
};
struct ReplaceDecoder {
    std::string pattern;
    std::string content;
    bool operator==(const ReplaceDecoder&) const = default;
};
struct ByteFallbackDecoder {  ///< "<0x0A>" is a byte.
    bool operator==(const ByteFallbackDecoder&) const = default;
};
struct FuseDecoder {
    bool operator==(const FuseDecoder&) const = default;
};
struct StripDecoder {  ///< Takes characters away at the start of the whole text.
    std::string content = " ";
    std::int64_t start = 0;
    bool operator==(const StripDecoder&) const = default;
};
struct MetaspaceDecoder {
    std::string replacement = "\xE2\x96\x81";
    PrependScheme prepend_scheme = PrependScheme::always;
    bool split = true;  ///< Of no effect.
    bool operator==(const MetaspaceDecoder&) const = default;
};
using Decoder = std::variant<ByteLevelDecoder, ReplaceDecoder, ByteFallbackDecoder, FuseDecoder,
                             StripDecoder, MetaspaceDecoder>;

/// All of a tokenizer: byte-pair encoding and what is around it. Lists are run in their order.
struct TokenizerDefinition {
    std::vector<VocabularyEntry> vocabulary;  ///< In the order of ids.
    std::vector<TokenMerge> merges;
    std::optional<std::string> unknown_token;  ///< For a character without a token.
    bool fuse_unknown = false;                 ///< One for several in a row.
    bool byte_fallback = false;                ///< Tokens "<0x00>" to "<0xFF>" come before it.
    bool ignore_merges = false;  ///< A word that is a token needs no merges to become it.
    std::vector<AddedToken> added;
    std::vector<Normalizer> normalizers;
    std::vector<PreTokenizer> pre_tokenizers;
    std::optional<Template> post_processor;
    std::vector<Decoder> decoders;
    bool operator==(const TokenizerDefinition&) const = default;
};

/// Throws InputError: what `source` names contradicts itself.
[[noreturn]] void refuse_definition(std::string_view source, std::string_view why);

}  // namespace cambrian
