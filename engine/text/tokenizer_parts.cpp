#include "cambrian/engine/text/tokenizer_parts.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <nlohmann/json.hpp>

#include "cambrian/engine/core/json/json_read.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/engine/text/json_members.hpp"
#include "cambrian/engine/text/json_names.hpp"

namespace cambrian {
namespace {

using json_read::element;
using json_read::find;
using json_read::member;
using nlohmann::json;

constexpr std::size_t max_steps = 16;
constexpr std::size_t longest_pattern = 256;
constexpr std::int64_t largest_number = std::numeric_limits<std::int32_t>::max();

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
std::string pattern(const JsonMembers& part, bool* regex) {
    const json& value = part.needed("pattern");
    const std::string path = part.path("pattern");
    const JsonMembers members(value, path, std::array<std::string_view, 2>{"String", "Regex"});
    const bool expression = members.held("Regex") != nullptr;
    if (expression && (regex == nullptr || members.held("String") != nullptr))
        json_read::fail(path, "is an expression", "only a String is known here",
                        "use a tokenizer without it");
    if (regex != nullptr) *regex = expression;
    std::string text = members.text(expression ? "Regex" : "String");
    if (text.empty())
        json_read::fail(path, "is empty", "it would be found everywhere", "name a text");
    if (!expression && text.size() > longest_pattern)  // It is searched for at every place.
        json_read::fail(path, fmt::format("has {} bytes", text.size()),
                        fmt::format("{} are the most", longest_pattern), "shorten it");
    return text;
}

/// A text that is put where another is found, as often as that may be.
std::string short_text(const JsonMembers& members, std::string_view key) {
    std::string text = members.text(key);
    if (text.size() > longest_pattern)
        json_read::fail(members.path(key), fmt::format("has {} bytes", text.size()),
                        fmt::format("{} are the most", longest_pattern), "shorten it");
    return text;
}

/// How many elements a short list has.
std::size_t short_list(const json& value, const std::string& path) {
    const std::size_t count = json_read::list(value, path);
    if (count > max_steps)
        json_read::fail(path, fmt::format("has {} parts", count),
                        fmt::format("{} are the most", max_steps), "leave some out");
    return count;
}

/// A part, or the parts of a Sequence of them, each by read(part, path).
template <class Read>
void read_sequence(const json& root, std::string_view key, std::string_view list_key,
                   const Read& read) {
    const json* part = find(root, key);
    if (part == nullptr || part->is_null()) return;
    if (type_of(*part, key) != "Sequence") return read(*part, std::string(key));
    const JsonMembers members(*part, key, std::array<std::string_view, 2>{"type", list_key});
    const json& list = members.needed(list_key);
    const std::string path = members.path(list_key);
    const std::size_t count = short_list(list, path);
    for (std::size_t i = 0; i < count; ++i) read(list[i], element(path, i));
}

Normalizer read_normalizer(const json& part, const std::string& path) {
    constexpr std::array<std::string_view, 4> known{"NFC", "Prepend", "Replace", "Sequence"};
    const std::string type = type_of(part, path);
    if (type == "NFC") {
        const JsonMembers members(part, path, std::array<std::string_view, 1>{"type"});
        return NfcNormalizer{};
    }
    if (type == "Prepend") {
        const JsonMembers members(part, path, std::array<std::string_view, 2>{"type", "prepend"});
        return PrependNormalizer{short_text(members, "prepend")};
    }
    if (type == "Replace") {
        const JsonMembers members(part, path,
                                  std::array<std::string_view, 3>{"type", "pattern", "content"});
        return ReplaceNormalizer{pattern(members, nullptr), short_text(members, "content")};
    }
    unknown_type(type, path, known);
}

constexpr std::array<std::string_view, 4> byte_level_keys{"type", "add_prefix_space",
                                                          "trim_offsets", "use_regex"};
constexpr std::array<std::string_view, 6> metaspace_keys{
    "type", "replacement", "str_rep", "add_prefix_space", "prepend_scheme", "split"};

/// Files of before prepend_scheme say add_prefix_space.
PrependScheme prepend_scheme(const JsonMembers& members) {
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

std::string metaspace_replacement(const JsonMembers& members) {
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
        const JsonMembers members(part, path, byte_level_keys);
        return ByteLevelPreTokenizer{.add_prefix_space = members.flag("add_prefix_space", true),
                                     .trim_offsets = members.flag("trim_offsets", true),
                                     .use_regex = members.flag("use_regex", true)};
    }
    if (type == "Split") {
        const JsonMembers members(
            part, path, std::array<std::string_view, 4>{"type", "pattern", "behavior", "invert"});
        SplitPreTokenizer split;
        split.pattern = pattern(members, &split.regex);
        split.behavior = static_cast<SplitBehavior>(json_read::choice(
            members.needed("behavior"), members.path("behavior"), json_names::split_behaviors));
        split.invert = members.flag("invert", false);
        return split;
    }
    if (type == "Digits") {
        const JsonMembers members(part, path,
                                  std::array<std::string_view, 2>{"type", "individual_digits"});
        return DigitsPreTokenizer{members.flag("individual_digits", false)};
    }
    if (type == "Metaspace") {
        const JsonMembers members(part, path, metaspace_keys);
        return MetaspacePreTokenizer{.replacement = metaspace_replacement(members),
                                     .prepend_scheme = prepend_scheme(members),
                                     .split = members.flag("split", true)};
    }
    unknown_type(type, path, known);
}

TemplatePart read_template_part(const json& part, const std::string& path) {
    const JsonMembers members(part, path,
                              std::array<std::string_view, 2>{"SpecialToken", "Sequence"});
    const bool token = members.held("SpecialToken") != nullptr;
    const std::string_view key = token ? "SpecialToken" : "Sequence";
    const JsonMembers inner(members.needed(key), members.path(key),
                            std::array<std::string_view, 2>{"id", "type_id"});
    if (token) return inner.text("id");
    inner.refuse_unless(inner.text("id") == "A", "id", "a single text is \"A\"");
    return std::nullopt;
}

TemplateToken read_template_token(const json& token, const std::string& path) {
    const JsonMembers members(token, path, std::array<std::string_view, 3>{"id", "ids", "tokens"});
    TemplateToken result{.name = members.text("id"), .ids = {}};
    const json& ids = members.needed("ids");
    for (std::size_t i = 0; i < short_list(ids, members.path("ids")); ++i)
        result.ids.push_back(
            json_read::integer(ids[i], element(members.path("ids"), i), 0, largest_number));
    return result;
}

/// The template for pairs of texts is left out: no pair is ever encoded.
Template read_template(const json& part, const std::string& path) {
    const JsonMembers members(
        part, path, std::array<std::string_view, 4>{"type", "single", "pair", "special_tokens"});
    Template result;
    const json& single = members.needed("single");
    for (std::size_t i = 0; i < short_list(single, members.path("single")); ++i)
        result.single.push_back(read_template_part(single[i], element(members.path("single"), i)));
    const json& tokens = members.needed("special_tokens");
    const std::string tokens_path = members.path("special_tokens");
    if (!tokens.is_object() || tokens.size() > max_steps)
        json_read::fail(tokens_path, "is no object of a few",
                        fmt::format("at most {} special tokens by their names", max_steps),
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
        const JsonMembers members(part, path, byte_level_keys);
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
        const JsonMembers members(part, path, byte_level_keys);
        return ByteLevelDecoder{};
    }
    if (type == "Replace") {
        const JsonMembers members(part, path,
                                  std::array<std::string_view, 3>{"type", "pattern", "content"});
        return ReplaceDecoder{pattern(members, nullptr), short_text(members, "content")};
    }
    if (type == "ByteFallback") {
        const JsonMembers members(part, path, alone);
        return ByteFallbackDecoder{};
    }
    if (type == "Fuse") {
        const JsonMembers members(part, path, alone);
        return FuseDecoder{};
    }
    if (type == "Strip") {
        const JsonMembers members(
            part, path, std::array<std::string_view, 4>{"type", "content", "start", "stop"});
        members.refuse_unless(members.number("stop", largest_number) == 0, "stop",
                              "only the start of a text is stripped");
        return StripDecoder{short_text(members, "content"),
                            members.number("start", largest_number)};
    }
    if (type == "Metaspace") {
        const JsonMembers members(part, path, metaspace_keys);
        return MetaspaceDecoder{.replacement = metaspace_replacement(members),
                                .prepend_scheme = prepend_scheme(members),
                                .split = members.flag("split", true)};
    }
    unknown_type(type, path, known);
}

}  // namespace

void read_steps(const json& root, TokenizerDefinition& result) {
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
}

}  // namespace cambrian
