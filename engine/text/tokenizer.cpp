#include "cambrian/engine/text/tokenizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/engine/text/added_tokens.hpp"
#include "cambrian/engine/text/byte_pairs.hpp"
#include "cambrian/engine/text/pre_tokenization.hpp"
#include "cambrian/engine/text/token_text.hpp"
#include "cambrian/engine/text/tokenizer_definition.hpp"
#include "cambrian/engine/text/unicode/unicode.hpp"

namespace cambrian {
namespace {

/// Special tokens after which models of the known families have said all.
constexpr std::array<std::string_view, 11> end_names{
    "</s>",  "<|endoftext|>", "<|end_of_text|>", "<|eot_id|>", "<|eom_id|>", "<|im_end|>",
    "<eos>", "<end_of_turn>", "<|end|>",         "<|return|>", "<|call|>"};

/// Ends a reply of Phi; in replies of gpt-oss, which <|return|> and <|call|> end, one message.
constexpr std::string_view end_of_message = "<|end|>";
constexpr std::string_view end_of_reply = "<|return|>";

bool is_byte_level(const TokenizerDefinition& definition, std::string_view source) {
    const auto& steps = definition.pre_tokenizers;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        if (!std::holds_alternative<ByteLevelPreTokenizer>(steps[i])) continue;
        if (i + 1 < steps.size())
            throw InputError(fmt::format(
                "{} has a pre-tokenizer after ByteLevel (which turns characters into bytes) use a "
                "tokenizer where ByteLevel is the last one",
                source));
        return true;
    }
    return false;
}

/// One more than the largest id. Gaps take memory: there may be as many as there are tokens, and a
/// block for added ones.
std::size_t checked_size(const TokenizerDefinition& definition, std::string_view source) {
    const auto most = static_cast<std::int64_t>(
        2 * (definition.vocabulary.size() + definition.added.size()) + 65536);
    std::int64_t largest = -1;
    const auto check = [&](std::int64_t id, const std::string& token) {
        if (id < 0 || id >= most)
            refuse_definition(source,
                              fmt::format("the token \"{}\" has the id {}, not one from 0 to {}",
                                          shortened(token), id, most - 1));
        largest = std::max(largest, id);
    };
    for (const VocabularyEntry& entry : definition.vocabulary) check(entry.id, entry.token);
    for (const AddedToken& token : definition.added) check(token.id, token.content);
    return static_cast<std::size_t>(largest + 1);
}

TokenizerDefinition in_order_of_ids(TokenizerDefinition definition) {
    std::ranges::stable_sort(definition.vocabulary, {}, &VocabularyEntry::id);
    return definition;
}

}  // namespace

struct Tokenizer::State {
    State(TokenizerDefinition given, std::string_view source)
        : definition(in_order_of_ids(std::move(given))),
          names(checked_size(definition, source)),
          byte_level(is_byte_level(definition, source)),
          pairs(definition, byte_level, source),
          texts(definition.decoders, source) {
        check_pre_tokenizers(definition, source);
        name_tokens(source);
        find_added(source);
        read_template(source);
        read_bytes();
    }
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    void name_tokens(std::string_view source);
    void find_added(std::string_view source);
    void read_template(std::string_view source);
    void read_bytes();
    void require(std::int64_t id) const;

    const TokenizerDefinition definition;
    std::vector<std::string_view> names;  ///< By id; empty: no token.
    const bool byte_level;
    const BytePairs pairs;
    const TokenTexts texts;
    std::vector<const AddedToken*> added;  ///< By id; null: not an added token.
    TokenIndex added_index;
    AddedTokens before_normalization;
    AddedTokens after_normalization;
    std::vector<std::int64_t> prefix;
    std::vector<std::int64_t> suffix;
    std::string bytes;                     ///< Of all tokens.
    std::vector<std::size_t> bytes_begin;  ///< By id, and the end.
};

void Tokenizer::State::name_tokens(std::string_view source) {
    added.resize(names.size());
    const auto name = [&](std::int64_t id, const std::string& token) {
        std::string_view& held = names[static_cast<std::size_t>(id)];
        if (token.empty()) refuse_definition(source, fmt::format("the token {} has no text", id));
        if (!held.empty() && held != token)
            refuse_definition(source, fmt::format("the id {} is of \"{}\" and of \"{}\"", id,
                                                  shortened(held), shortened(token)));
        held = token;
    };
    for (const VocabularyEntry& entry : definition.vocabulary) name(entry.id, entry.token);
    for (const AddedToken& token : definition.added) {
        const auto known = pairs.find(token.content);
        if (known && *known != token.id)
            refuse_definition(
                source, fmt::format("the added token \"{}\" has the id {}, in the vocabulary {}",
                                    shortened(token.content), token.id, *known));
        name(token.id, token.content);
        added[static_cast<std::size_t>(token.id)] = &token;
    }
}

void Tokenizer::State::find_added(std::string_view source) {
    std::vector<TokenIndex::Entry> entries;
    std::vector<const AddedToken*> raw;
    std::vector<std::string> raw_texts;
    std::vector<const AddedToken*> normalized;
    std::vector<std::string> normalized_texts;
    std::vector<const AddedToken*> order;
    for (const AddedToken& token : definition.added) order.push_back(&token);
    // Of two that are normalised to one text the special one is found, as in the original.
    std::ranges::stable_partition(order, &AddedToken::special);
    for (const AddedToken* each : order) {
        const AddedToken& token = *each;
        entries.push_back({token.content, static_cast<std::uint32_t>(token.id)});
        std::string text =
            token.normalized ? normalize(definition.normalizers, token.content) : token.content;
        if (text.size() > AddedTokens::longest)
            throw InputError(fmt::format(
                "{} has an added token of {} bytes, \"{}\" ({} are the most) shorten it", source,
                text.size(), shortened(text, 40), AddedTokens::longest));
        (token.normalized ? normalized : raw).push_back(&token);
        (token.normalized ? normalized_texts : raw_texts).push_back(std::move(text));
    }
    added_index = TokenIndex(entries);
    if (const auto token = added_index.repeated())
        refuse_definition(source,
                          fmt::format("the added token \"{}\" stands twice", shortened(*token)));
    before_normalization = AddedTokens(raw, std::move(raw_texts));
    after_normalization = AddedTokens(normalized, std::move(normalized_texts));
}

void Tokenizer::State::read_template(std::string_view source) {
    if (!definition.post_processor) return;
    const Template& around = *definition.post_processor;
    bool after_text = false;
    for (const TemplatePart& part : around.single) {
        if (!part) {
            if (after_text) refuse_definition(source, "its template has the text twice");
            after_text = true;
            continue;
        }
        const auto token = std::ranges::find(around.tokens, *part, &TemplateToken::name);
        if (token == around.tokens.end())
            refuse_definition(
                source, fmt::format("its template has \"{}\", which it does not name as a special "
                                    "token",
                                    shortened(*part)));
        for (const std::int64_t id : token->ids) {
            if (id < 0 || id >= static_cast<std::int64_t>(names.size()))
                refuse_definition(
                    source, fmt::format("its template has the id {}, which no token has", id));
            (after_text ? suffix : prefix).push_back(id);
        }
    }
    if (!after_text) refuse_definition(source, "its template leaves out the text");
}

void Tokenizer::State::read_bytes() {
    bytes_begin.reserve(names.size() + 1);
    for (std::size_t id = 0; id < names.size(); ++id) {
        bytes_begin.push_back(bytes.size());
        bytes += texts.bytes(names[id], added[id] != nullptr);
    }
    bytes_begin.push_back(bytes.size());
}

void Tokenizer::State::require(std::int64_t id) const {
    if (id < 0 || id >= static_cast<std::int64_t>(names.size()) ||
        names[static_cast<std::size_t>(id)].empty())
        throw InputError(
            fmt::format("the id {} is of no token (they are from 0 to {}) use ids of "
                        "this tokenizer",
                        id, names.size() - 1));
}

Tokenizer::Tokenizer(TokenizerDefinition definition, std::string_view source)
    : state_(std::make_shared<const State>(std::move(definition), source)) {}

std::vector<std::int64_t> Tokenizer::encode(std::string_view text, Surround surround) const {
    if (text.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()) / 4)
        throw InputError(
            fmt::format("a text of {} bytes is too long (512 MiB are the most) encode "
                        "it in parts",
                        text.size()));
    if (const std::size_t valid = unicode::valid_length(text); valid < text.size())
        throw InputError(
            fmt::format("the text is not UTF-8 (byte {} belongs to no character) "
                        "convert it, as with iconv",
                        valid));
    const State& state = *state_;
    std::vector<std::int64_t> ids;
    if (surround == Surround::yes) ids = state.prefix;
    BytePairs::Encoder encoder(state.pairs, text.size());
    state.before_normalization.search(text, [&](const TextPiece& piece) {
        if (piece.token != nullptr) return ids.push_back(piece.token->id);
        bool begins = piece.text.data() == text.data();
        const std::string normalized = state.definition.normalizers.empty()
                                           ? std::string()
                                           : normalize(state.definition.normalizers, piece.text);
        const std::string_view searched =
            state.definition.normalizers.empty() ? piece.text : std::string_view(normalized);
        state.after_normalization.search(searched, [&](const TextPiece& part) {
            if (part.token != nullptr) {
                ids.push_back(part.token->id);
            } else {
                const Words words =
                    pre_tokenize(state.definition.pre_tokenizers, part.text, begins);
                for (const std::string_view word : words.list) encoder.add(word, ids);
            }
            begins = false;
        });
    });
    if (surround == Surround::yes) ids.insert(ids.end(), state.suffix.begin(), state.suffix.end());
    return ids;
}

std::string Tokenizer::decode(std::span<const std::int64_t> ids, SpecialTokens special) const {
    StreamDecoder decoder(*this, special);
    std::string text;
    for (const std::int64_t id : ids) text += decoder.add(id);
    return text + decoder.finish();
}

std::int64_t Tokenizer::size() const {
    return static_cast<std::int64_t>(state_->names.size());
}

std::optional<std::int64_t> Tokenizer::id_of(std::string_view token) const {
    std::optional<std::uint32_t> id = state_->pairs.find(token);
    if (!id) id = state_->added_index.find(token);
    if (!id) return std::nullopt;
    return *id;
}

std::string_view Tokenizer::token(std::int64_t id) const {
    if (id < 0 || id >= size()) return {};
    return state_->names[static_cast<std::size_t>(id)];
}

bool Tokenizer::is_special(std::int64_t id) const {
    if (id < 0 || id >= size()) return false;
    const AddedToken* token = state_->added[static_cast<std::size_t>(id)];
    return token != nullptr && token->special;
}

std::vector<std::int64_t> Tokenizer::end_tokens() const {
    const auto special = [&](std::string_view name) {
        const auto id = id_of(name);
        return id && is_special(*id) ? id : std::nullopt;
    };
    const bool several_messages = special(end_of_reply).has_value();
    std::vector<std::int64_t> ids;
    for (const std::string_view name : end_names)
        if (const auto id = special(name); id && !(several_messages && name == end_of_message))
            ids.push_back(*id);
    std::ranges::sort(ids);
    return ids;
}

std::string_view Tokenizer::bytes(std::int64_t id) const {
    state_->require(id);
    state_->texts.require_decoder();
    const std::size_t begin = state_->bytes_begin[static_cast<std::size_t>(id)];
    const std::size_t end = state_->bytes_begin[static_cast<std::size_t>(id) + 1];
    return std::string_view(state_->bytes).substr(begin, end - begin);
}

std::string Tokenizer::first_bytes(std::int64_t id) const {
    return state_->texts.first_bytes(token(id), bytes(id));
}

const TokenizerDefinition& Tokenizer::definition() const {
    return state_->definition;
}

std::string StreamDecoder::add(std::int64_t id) {
    const std::string_view bytes = tokenizer_.bytes(id);
    if (special_ == SpecialTokens::leave_out && tokenizer_.is_special(id)) return {};
    if (begun_) {
        held_ += bytes;
    } else if (!bytes.empty()) {
        begun_ = true;
        held_ += tokenizer_.first_bytes(id);
    }
    const std::size_t whole = held_.size() - unicode::unfinished_length(held_);
    std::string text = unicode::repaired(held_.substr(0, whole));
    held_.erase(0, whole);
    return text;
}

std::string StreamDecoder::finish() {
    begun_ = before_ == Before::text;
    return unicode::repaired(std::exchange(held_, {}));
}

}  // namespace cambrian
