#include <nlohmann/json.hpp>

#include "cambrian/engine/text/json_names.hpp"
#include "cambrian/engine/text/tokenizer_json.hpp"

namespace cambrian {
namespace {

using Json = nlohmann::ordered_json;

std::string_view name(SplitBehavior behavior) {
    return json_names::split_behaviors[static_cast<std::size_t>(behavior)];
}
std::string_view name(PrependScheme scheme) {
    return json_names::prepend_schemes[static_cast<std::size_t>(scheme)];
}

Json part(const NfcNormalizer&) {
    return {{"type", "NFC"}};
}
Json part(const PrependNormalizer& step) {
    return {{"type", "Prepend"}, {"prepend", step.prepend}};
}
Json replace(const std::string& pattern, const std::string& content) {
    return {{"type", "Replace"}, {"pattern", {{"String", pattern}}}, {"content", content}};
}
Json part(const ReplaceNormalizer& step) {
    return replace(step.pattern, step.content);
}

Json byte_level(const ByteLevelPreTokenizer& step) {
    return {{"type", "ByteLevel"},
            {"add_prefix_space", step.add_prefix_space},
            {"trim_offsets", step.trim_offsets},
            {"use_regex", step.use_regex}};
}
Json part(const ByteLevelPreTokenizer& step) {
    return byte_level(step);
}
Json part(const SplitPreTokenizer& step) {
    return {{"type", "Split"},
            {"pattern", {{step.regex ? "Regex" : "String", step.pattern}}},
            {"behavior", name(step.behavior)},
            {"invert", step.invert}};
}
Json part(const DigitsPreTokenizer& step) {
    return {{"type", "Digits"}, {"individual_digits", step.individual_digits}};
}
template <class Step>
Json metaspace(const Step& step) {
    return {{"type", "Metaspace"},
            {"replacement", step.replacement},
            {"prepend_scheme", name(step.prepend_scheme)},
            {"split", step.split}};
}
Json part(const MetaspacePreTokenizer& step) {
    return metaspace(step);
}

Json part(const ByteLevelDecoder&) {
    return byte_level({});
}
Json part(const ReplaceDecoder& step) {
    return replace(step.pattern, step.content);
}
Json part(const ByteFallbackDecoder&) {
    return {{"type", "ByteFallback"}};
}
Json part(const FuseDecoder&) {
    return {{"type", "Fuse"}};
}
Json part(const StripDecoder& step) {
    return {{"type", "Strip"}, {"content", step.content}, {"start", step.start}, {"stop", 0}};
}
Json part(const MetaspaceDecoder& step) {
    return metaspace(step);
}

/// null, one part, or a Sequence of them.
template <class Step>
Json sequence(const std::vector<Step>& steps, std::string_view list_key) {
    Json parts = Json::array();
    for (const Step& step : steps)
        parts.push_back(std::visit([](const auto& kind) { return part(kind); }, step));
    if (parts.empty()) return nullptr;
    if (parts.size() == 1) return parts.front();
    return {{"type", "Sequence"}, {list_key, std::move(parts)}};
}

/// The template, once for each text of a pair.
void add_template(Json& parts, const Template& around, std::string_view text, int type_id) {
    for (const TemplatePart& place : around.single)
        parts.push_back({{place ? "SpecialToken" : "Sequence",
                          {{"id", place ? *place : std::string(text)}, {"type_id", type_id}}}});
}

Json post_processor(const std::optional<Template>& around) {
    if (!around) return nullptr;
    Json single = Json::array();
    add_template(single, *around, "A", 0);
    Json pair = single;
    add_template(pair, *around, "B", 1);
    Json tokens = Json::object();
    for (const TemplateToken& token : around->tokens)
        tokens[token.name] = {{"id", token.name},
                              {"ids", token.ids},
                              {"tokens", std::vector<std::string>(token.ids.size(), token.name)}};
    return {{"type", "TemplateProcessing"},
            {"single", std::move(single)},
            {"pair", std::move(pair)},
            {"special_tokens", std::move(tokens)}};
}

Json added_tokens(const std::vector<AddedToken>& tokens) {
    Json list = Json::array();
    for (const AddedToken& token : tokens)
        list.push_back({{"id", token.id},
                        {"content", token.content},
                        {"single_word", token.single_word},
                        {"lstrip", token.lstrip},
                        {"rstrip", token.rstrip},
                        {"normalized", token.normalized},
                        {"special", token.special}});
    return list;
}

Json model(const TokenizerDefinition& definition) {
    // An ordered object looks at all of its keys for each that is set; tokens differ.
    Json vocabulary = Json::object();
    auto& entries = vocabulary.get_ref<Json::object_t&>();
    entries.reserve(definition.vocabulary.size());
    for (const VocabularyEntry& entry : definition.vocabulary)
        static_cast<std::vector<Json::object_t::value_type>&>(entries).emplace_back(entry.token,
                                                                                    entry.id);
    Json merges = Json::array();
    for (const TokenMerge& merge : definition.merges)
        merges.push_back(Json::array({merge.left, merge.right}));
    return {{"type", "BPE"},
            {"dropout", nullptr},
            {"unk_token", definition.unknown_token ? Json(*definition.unknown_token) : Json()},
            {"continuing_subword_prefix", nullptr},
            {"end_of_word_suffix", nullptr},
            {"fuse_unk", definition.fuse_unknown},
            {"byte_fallback", definition.byte_fallback},
            {"ignore_merges", definition.ignore_merges},
            {"vocab", std::move(vocabulary)},
            {"merges", std::move(merges)}};
}

}  // namespace

std::string tokenizer_json(const TokenizerDefinition& definition) {
    const Json root{{"version", "1.0"},
                    {"truncation", nullptr},
                    {"padding", nullptr},
                    {"added_tokens", added_tokens(definition.added)},
                    {"normalizer", sequence(definition.normalizers, "normalizers")},
                    {"pre_tokenizer", sequence(definition.pre_tokenizers, "pretokenizers")},
                    {"post_processor", post_processor(definition.post_processor)},
                    {"decoder", sequence(definition.decoders, "decoders")},
                    {"model", model(definition)}};
    return root.dump(2) + '\n';
}

}  // namespace cambrian
