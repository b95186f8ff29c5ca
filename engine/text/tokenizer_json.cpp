#include "cambrian/engine/text/tokenizer_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/json_read.hpp"
#include "cambrian/engine/core/json/json_text.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/engine/io/container.hpp"
#include "cambrian/engine/text/json_members.hpp"
#include "cambrian/engine/text/tokenizer_parts.hpp"

namespace cambrian {
namespace {

using json_read::element;
using json_read::member;
using nlohmann::json;

constexpr std::size_t longest_file = std::size_t{64} << 20U;
constexpr std::int64_t largest_id = std::numeric_limits<std::int32_t>::max();

void read_added_tokens(const JsonMembers& root, TokenizerDefinition& result) {
    const json* list = root.held("added_tokens");
    if (list == nullptr) return;
    for (std::size_t i = 0; i < json_read::list(*list, "added_tokens"); ++i) {
        const JsonMembers token(
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
    const JsonMembers members(
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
    const JsonMembers members(root, "",
                              std::array<std::string_view, 9>{
                                  "version", "truncation", "padding", "added_tokens", "normalizer",
                                  "pre_tokenizer", "post_processor", "decoder", "model"});
    for (const std::string_view key : {"truncation", "padding"})
        members.refuse_unless(members.held(key) == nullptr, key,
                              "texts are neither cut nor filled up");
    TokenizerDefinition result;
    read_model(members.needed("model"), result);
    read_added_tokens(members, result);
    read_steps(root, result);
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

Hash128 tokenizer_hash(const TokenizerDefinition& definition) {
    return hash128(std::as_bytes(std::span<const char>(tokenizer_json(definition))));
}

Tokenizer read_tokenizer(const std::filesystem::path& path) {
    const std::filesystem::path file =
        std::filesystem::is_directory(path) ? path / "tokenizer.json" : path;
    const std::vector<std::byte> bytes = read_file(file, longest_file);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return Tokenizer(parse_tokenizer(text, file.string()), file.string());
}

}  // namespace cambrian
