#include "cambrian/engine/text/tokenizer_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/json_read.hpp"
#include "cambrian/engine/core/json/json_text.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/engine/io/container.hpp"
#include "cambrian/engine/text/json_names.hpp"

namespace cambrian {
namespace {

using json_read::element;
using json_read::find;
using json_read::member;
using nlohmann::json;

constexpr std::size_t longest_file = std::size_t{256} << 20U;
constexpr std::size_t most_steps = 16;
constexpr std::int64_t largest_id = std::numeric_limits<std::int32_t>::max();

bool is_absent(const json* value) {
    return value == nullptr || value->is_null();
}

/// Members of an object at a path, whose keys were checked.
class Members {
  public:
    template <std::size_t Count>
    Members(const json& object, std::string_view path,
            const std::array<std::string_view, Count>& keys)
        : object_(object), path_(path) {
        json_read::object(object, path, keys);
    }

    [[nodiscard]] std::string path(std::string_view key) const { return member(path_, key); }
    [[nodiscard]] const json* held(std::string_view key) const {
        const json* value = find(object_, key);
        return is_absent(value) ? nullptr : value;
    }
    [[nodiscard]] const json& needed(std::string_view key) const {
        const json* value = held(key);
        if (value == nullptr) json_read::fail(path(key), "is not there", "it is needed", "add it");
        return *value;
    }
    [[nodiscard]] std::string text(std::string_view key) const {
        return json_read::text(needed(key), path(key));
    }
    [[nodiscard]] bool flag(std::string_view key, bool initial) const {
        const json* value = held(key);
        return value == nullptr ? initial : json_read::boolean(*value, path(key));
    }
    [[nodiscard]] std::int64_t number(std::string_view key, std::int64_t most) const {
        return json_read::integer(needed(key), path(key), 0, most);
    }
    /// What is only read where it changes nothing.
    void refuse_unless(bool neutral, std::string_view key, std::string_view why) const {
        if (!neutral)
            json_read::fail(path(key), "is not known here", why,
                            "use a tokenizer without it, or with null there");
    }

  private:
    const json& object_;
    std::string path_;
};

/// The type of a part; its other keys are checked by what reads it.
std::string type_of(const json& part, std::string_view path) {
    const json* type = part.is_object() ? find(part, "type") : nullptr;
    if (type == nullptr)
        json_read::fail(path, "has no type", "an object with one is needed", "add it");
    return json_read::text(*type, member(path, "type"));
}

[[noreturn]] void unknown_type(std::string_view type, std::string_view path,
                               std::span<const std::string_view> known) {
    json_read::fail(member(path, "type"), fmt::format("is \"{}\"", shortened(type)),
                    "known are " + joined(known), nearest_hint(type, known));
}

/// A text that is looked for: {"String": " "}, or an expression where that is allowed.
std::string pattern(const Members& part, bool* regex) {
    const json& value = part.needed("pattern");
    const std::string path = part.path("pattern");
    const Members members(value, path, std::array<std::string_view, 2>{"String", "Regex"});
    const bool expression = members.held("Regex") != nullptr;
    if (expression && (regex == nullptr || members.held("String") != nullptr))
        json_read::fail(path, "is an expression", "only a String is known here",
                        "use a tokenizer without it");
    if (regex != nullptr) *regex = expression;
    std::string text = members.text(expression ? "Regex" : "String");
    if (text.empty())
        json_read::fail(path, "is empty", "it would be found everywhere", "name a text");
    return text;
}

/// How many elements a short list has.
std::size_t short_list(const json& value, const std::string& path) {
    const std::size_t count = json_read::list(value, path);
    if (count > most_steps)
        json_read::fail(path, fmt::format("has {} parts", count),
                        fmt::format("{} are the most", most_steps), "leave some out");
    return count;
}

/// A part, or the parts of a Sequence of them, each by read(part, path).
template <class Read>
void read_sequence(const json& root, std::string_view key, std::string_view list_key,
                   const Read& read) {
    const json* part = find(root, key);
    if (is_absent(part)) return;
    if (type_of(*part, key) != "Sequence") return read(*part, std::string(key));
    const Members members(*part, key, std::array<std::string_view, 2>{"type", list_key});
    const json& list = members.needed(list_key);
    const std::string path = members.path(list_key);
    const std::size_t count = short_list(list, path);
    for (std::size_t i = 0; i < count; ++i) read(list[i], element(path, i));
}

Normalizer read_normalizer(const json& part, const std::string& path) {
    constexpr std::array<std::string_view, 4> known{"NFC", "Prepend", "Replace", "Sequence"};
    const std::string type = type_of(part, path);
    if (type == "NFC") {
        const Members members(part, path, std::array<std::string_view, 1>{"type"});
        return NfcNormalizer{};
    }
    if (type == "Prepend") {
        const Members members(part, path, std::array<std::string_view, 2>{"type", "prepend"});
        return PrependNormalizer{members.text("prepend")};
    }
    if (type == "Replace") {
        const Members members(part, path,
                              std::array<std::string_view, 3>{"type", "pattern", "content"});
        return ReplaceNormalizer{pattern(members, nullptr), members.text("content")};
    }
    unknown_type(type, path, known);
}

constexpr std::array<std::string_view, 4> byte_level_keys{"type", "add_prefix_space",
                                                          "trim_offsets", "use_regex"};
constexpr std::array<std::string_view, 6> metaspace_keys{
    "type", "replacement", "str_rep", "add_prefix_space", "prepend_scheme", "split"};

/// Files of before prepend_scheme say add_prefix_space.
PrependScheme prepend_scheme(const Members& members) {
    const bool prefix = members.flag("add_prefix_space", true);
    const json* scheme = members.held("prepend_scheme");
    if (scheme == nullptr) return prefix ? PrependScheme::always : PrependScheme::never;
    const auto chosen = static_cast<PrependScheme>(
        json_read::choice(*scheme, members.path("prepend_scheme"), json_names::prepend_schemes));
    if (!prefix && chosen != PrependScheme::never)
        json_read::fail(members.path("add_prefix_space"), "is false", "prepend_scheme says other",
                        "take one of them out");
    return chosen;
}

std::string metaspace_replacement(const Members& members) {
    constexpr std::size_t longest = 4;
    std::string text = members.held("replacement") ? members.text("replacement")
                                                   : MetaspacePreTokenizer{}.replacement;
    members.refuse_unless(!text.empty() && text.size() <= longest, "replacement",
                          "one character is needed");
    return text;
}

PreTokenizer read_pre_tokenizer(const json& part, const std::string& path) {
    constexpr std::array<std::string_view, 5> known{"ByteLevel", "Split", "Digits", "Metaspace",
                                                    "Sequence"};
    const std::string type = type_of(part, path);
    if (type == "ByteLevel") {
        const Members members(part, path, byte_level_keys);
        return ByteLevelPreTokenizer{.add_prefix_space = members.flag("add_prefix_space", true),
                                     .trim_offsets = members.flag("trim_offsets", true),
                                     .use_regex = members.flag("use_regex", true)};
    }
    if (type == "Split") {
        const Members members(
            part, path, std::array<std::string_view, 4>{"type", "pattern", "behavior", "invert"});
        SplitPreTokenizer split;
        split.pattern = pattern(members, &split.regex);
        split.behavior = static_cast<SplitBehavior>(json_read::choice(
            members.needed("behavior"), members.path("behavior"), json_names::split_behaviors));
        split.invert = members.flag("invert", false);
        return split;
    }
    if (type == "Digits") {
        const Members members(part, path,
                              std::array<std::string_view, 2>{"type", "individual_digits"});
        return DigitsPreTokenizer{members.flag("individual_digits", false)};
    }
    if (type == "Metaspace") {
        const Members members(part, path, metaspace_keys);
        return MetaspacePreTokenizer{.replacement = metaspace_replacement(members),
                                     .prepend_scheme = prepend_scheme(members),
                                     .split = members.flag("split", true)};
    }
    unknown_type(type, path, known);
}

TemplatePart read_template_part(const json& part, const std::string& path) {
    const Members members(part, path, std::array<std::string_view, 2>{"SpecialToken", "Sequence"});
    const bool token = members.held("SpecialToken") != nullptr;
    const std::string_view key = token ? "SpecialToken" : "Sequence";
    const Members inner(members.needed(key), members.path(key),
                        std::array<std::string_view, 2>{"id", "type_id"});
    if (token) return inner.text("id");
    inner.refuse_unless(inner.text("id") == "A", "id", "a single text is \"A\"");
    return std::nullopt;
}

TemplateToken read_template_token(const json& token, const std::string& path) {
    const Members members(token, path, std::array<std::string_view, 3>{"id", "ids", "tokens"});
    TemplateToken result{.name = members.text("id"), .ids = {}};
    const json& ids = members.needed("ids");
    for (std::size_t i = 0; i < short_list(ids, members.path("ids")); ++i)
        result.ids.push_back(
            json_read::integer(ids[i], element(members.path("ids"), i), 0, largest_id));
    return result;
}

/// The template for pairs of texts is left out: no pair is ever encoded.
Template read_template(const json& part, const std::string& path) {
    const Members members(
        part, path, std::array<std::string_view, 4>{"type", "single", "pair", "special_tokens"});
    Template result;
    const json& single = members.needed("single");
    for (std::size_t i = 0; i < short_list(single, members.path("single")); ++i)
        result.single.push_back(read_template_part(single[i], element(members.path("single"), i)));
    const json& tokens = members.needed("special_tokens");
    const std::string tokens_path = members.path("special_tokens");
    if (!tokens.is_object() || tokens.size() > most_steps)
        json_read::fail(tokens_path, "is no object of a few",
                        fmt::format("at most {} special tokens by their names", most_steps),
                        "change it");
    for (const auto& [name, token] : tokens.items())
        result.tokens.push_back(
            read_template_token(token, member(tokens_path, shortened(name, 40))));
    return result;
}

void read_post_processor(const json& part, const std::string& path,
                         std::optional<Template>& result) {
    constexpr std::array<std::string_view, 3> known{"ByteLevel", "TemplateProcessing", "Sequence"};
    const std::string type = type_of(part, path);
    if (type == "ByteLevel") {  // Says where tokens stand in the text, which nobody asks for.
        const Members members(part, path, byte_level_keys);
        return;
    }
    if (type != "TemplateProcessing") unknown_type(type, path, known);
    if (result)
        json_read::fail(path, "is a second template", "one is known here",
                        "use a tokenizer with one");
    result = read_template(part, path);
}

Decoder read_decoder(const json& part, const std::string& path) {
    constexpr std::array<std::string_view, 7> known{
        "ByteLevel", "Replace", "ByteFallback", "Fuse", "Strip", "Metaspace", "Sequence"};
    constexpr std::array<std::string_view, 1> alone{"type"};
    const std::string type = type_of(part, path);
    if (type == "ByteLevel") {
        const Members members(part, path, byte_level_keys);
        return ByteLevelDecoder{};
    }
    if (type == "Replace") {
        const Members members(part, path,
                              std::array<std::string_view, 3>{"type", "pattern", "content"});
        return ReplaceDecoder{pattern(members, nullptr), members.text("content")};
    }
    if (type == "ByteFallback") {
        const Members members(part, path, alone);
        return ByteFallbackDecoder{};
    }
    if (type == "Fuse") {
        const Members members(part, path, alone);
        return FuseDecoder{};
    }
    if (type == "Strip") {
        const Members members(part, path,
                              std::array<std::string_view, 4>{"type", "content", "start", "stop"});
        members.refuse_unless(members.number("stop", largest_id) == 0, "stop",
                              "only the start of a text is stripped");
        return StripDecoder{members.text("content"), members.number("start", largest_id)};
    }
    if (type == "Metaspace") {
        const Members members(part, path, metaspace_keys);
        return MetaspaceDecoder{.replacement = metaspace_replacement(members),
                                .prepend_scheme = prepend_scheme(members),
                                .split = members.flag("split", true)};
    }
    unknown_type(type, path, known);
}

void read_added_tokens(const Members& root, TokenizerDefinition& result) {
    const json* list = root.held("added_tokens");
    if (list == nullptr) return;
    for (std::size_t i = 0; i < json_read::list(*list, "added_tokens"); ++i) {
        const Members token(
            (*list)[i], element("added_tokens", i),
            std::array<std::string_view, 7>{"id", "content", "single_word", "lstrip", "rstrip",
                                            "normalized", "special"});
        const bool special = token.flag("special", false);
        result.added.push_back({.id = token.number("id", largest_id),
                                .content = token.text("content"),
                                .single_word = token.flag("single_word", false),
                                .lstrip = token.flag("lstrip", false),
                                .rstrip = token.flag("rstrip", false),
                                .normalized = token.flag("normalized", !special),
                                .special = special});
    }
}

TokenMerge read_merge(const json& merge, std::size_t rank) {
    const auto place = [&] { return element("model.merges", rank); };
    if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string())
        return {merge[0].get<std::string>(), merge[1].get<std::string>()};
    if (!merge.is_string())
        json_read::fail(place(), "is no merge", "two tokens are needed", "change it");
    const auto& text = merge.get_ref<const std::string&>();
    const std::size_t gap = text.find(' ');
    if (gap == std::string::npos || text.find(' ', gap + 1) != std::string::npos)
        json_read::fail(place(), fmt::format("is \"{}\"", shortened(text, 40)),
                        "two tokens with a space between them are needed", "change it");
    return {text.substr(0, gap), text.substr(gap + 1)};
}

void read_model(const json& model, TokenizerDefinition& result) {
    const Members members(
        model, "model",
        std::array<std::string_view, 10>{
            "type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
            "fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges"});
    // Files of before there were several kinds do not name theirs.
    if (const json* type = members.held("type"); type != nullptr && *type != "BPE")
        json_read::fail("model.type", "is " + json_text::shown(*type, 40),
                        "only BPE, byte-pair encoding, is known",
                        "use the tokenizer of a model that has it");
    for (const std::string_view key : {"continuing_subword_prefix", "end_of_word_suffix"})
        members.refuse_unless(members.held(key) == nullptr || *members.held(key) == "", key,
                              "words carry no marks");
    const json* dropout = members.held("dropout");
    members.refuse_unless(dropout == nullptr || *dropout == 0.0, "dropout",
                          "merges are not left out at random");
    if (members.held("unk_token") != nullptr) result.unknown_token = members.text("unk_token");
    result.fuse_unknown = members.flag("fuse_unk", false);
    result.byte_fallback = members.flag("byte_fallback", false);
    result.ignore_merges = members.flag("ignore_merges", false);

    const json& vocabulary = members.needed("vocab");
    if (!vocabulary.is_object())
        json_read::fail("model.vocab", "is no object", "ids by their tokens", "change it");
    result.vocabulary.reserve(vocabulary.size());
    for (const auto& [token, id] : vocabulary.items()) {
        if (!id.is_number_unsigned() || id.get<std::uint64_t>() > std::uint64_t{largest_id})
            json_read::fail(member("model.vocab", shortened(token, 40)),
                            "is " + json_text::shown(id, 40),
                            fmt::format("an id from 0 to {} is needed", largest_id), "change it");
        result.vocabulary.push_back({token, id.get<std::int64_t>()});
    }
    const json& merges = members.needed("merges");
    result.merges.reserve(json_read::list(merges, "model.merges"));
    for (std::size_t rank = 0; rank < merges.size(); ++rank)
        result.merges.push_back(read_merge(merges[rank], rank));
}

TokenizerDefinition read_definition(const json& root) {
    const Members members(root, "",
                          std::array<std::string_view, 9>{
                              "version", "truncation", "padding", "added_tokens", "normalizer",
                              "pre_tokenizer", "post_processor", "decoder", "model"});
    for (const std::string_view key : {"truncation", "padding"})
        members.refuse_unless(members.held(key) == nullptr, key,
                              "texts are neither cut nor filled up");
    TokenizerDefinition result;
    read_model(members.needed("model"), result);
    read_added_tokens(members, result);
    read_sequence(root, "normalizer", "normalizers", [&](const json& part, const auto& path) {
        result.normalizers.push_back(read_normalizer(part, path));
    });
    read_sequence(root, "pre_tokenizer", "pretokenizers", [&](const json& part, const auto& path) {
        result.pre_tokenizers.push_back(read_pre_tokenizer(part, path));
    });
    read_sequence(root, "post_processor", "processors", [&](const json& part, const auto& path) {
        read_post_processor(part, path, result.post_processor);
    });
    read_sequence(root, "decoder", "decoders", [&](const json& part, const auto& path) {
        result.decoders.push_back(read_decoder(part, path));
    });
    std::ranges::sort(result.vocabulary, {}, &VocabularyEntry::id);
    return result;
}

}  // namespace

TokenizerDefinition parse_tokenizer(std::string_view text, std::string_view source) {
    const auto fail = [&](const std::string& why) {
        throw InputError(fmt::format("{} cannot be read as tokenizer.json: {}", source, why));
    };
    if (const auto fault = json_text::fault(text, {.length = longest_file}))
        fail(fmt::format("{} ({}{}) write it again or name another file",
                         fault->is_json ? "it holds what it may not" : "it is no JSON", fault->why,
                         fault->byte ? fmt::format(", at byte {}", *fault->byte) : ""));
    try {
        return read_definition(json::parse(text));
    } catch (const ConfigError& error) {
        throw InputError(
            fmt::format("{} cannot be read as tokenizer.json: {}", source, error.what()));
    }
}

Tokenizer read_tokenizer(const std::filesystem::path& path) {
    const std::filesystem::path file =
        std::filesystem::is_directory(path) ? path / "tokenizer.json" : path;
    const std::vector<std::byte> bytes = read_file(file, longest_file);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return Tokenizer(parse_tokenizer(text, file.string()), file.string());
}

}  // namespace cambrian
