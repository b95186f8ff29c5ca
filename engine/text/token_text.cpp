#include "cambrian/engine/text/token_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/text/byte_alphabet.hpp"
#include "cambrian/engine/text/pre_tokenization.hpp"

namespace cambrian {
namespace {

/// What one decoder makes of a token.
struct DecodeToken {
    std::string text;
    bool added = false;

    void operator()(const ByteLevelDecoder&) {
        if (added) return;
        if (auto bytes = byte_alphabet::read(text)) text = std::move(*bytes);
    }
    void operator()(const ReplaceDecoder& step) {
        text = replaced(text, step.pattern, step.content);
    }
    void operator()(const ByteFallbackDecoder&) {
        constexpr std::size_t length = 6;  // "<0x0A>"
        if (text.size() != length || !text.starts_with("<0x") || !text.ends_with('>')) return;
        unsigned value = 0;
        const char* end = text.data() + length - 1;
        const auto [read, error] = std::from_chars(text.data() + 3, end, value, 16);
        if (error == std::errc() && read == end) text = std::string(1, static_cast<char>(value));
    }
    void operator()(const FuseDecoder&) {}
    void operator()(const StripDecoder&) {}
    void operator()(const MetaspaceDecoder& step) { text = replaced(text, step.replacement, " "); }
};

[[noreturn]] void refuse(std::string_view source, std::string_view what) {
    throw InputError(
        fmt::format("{} cannot decode ({}) use ByteLevel alone, Metaspace alone, or Replace, "
                    "ByteFallback, Fuse "
                    "and then Strip of one space at the start",
                    source, what));
}

}  // namespace

TokenTexts::TokenTexts(std::span<const Decoder> decoders, std::string_view source)
    : decoders_(decoders), source_(source) {
    bool fused = false;
    for (const Decoder& step : decoders) {
        const bool alone = std::holds_alternative<ByteLevelDecoder>(step) ||
                           std::holds_alternative<MetaspaceDecoder>(step);
        if (alone && decoders.size() > 1)
            refuse(source, "a decoder that must stand alone does not");
        if (strips_space_) refuse(source, "a decoder stands after Strip");
        if (const auto* metaspace = std::get_if<MetaspaceDecoder>(&step);
            metaspace != nullptr && metaspace->prepend_scheme != PrependScheme::never)
            drops_marks_ = metaspace;
        if (std::holds_alternative<FuseDecoder>(step)) fused = true;
        if (const auto* strip = std::get_if<StripDecoder>(&step)) {
            if (!fused || strip->content != " " || strip->start != 1)
                refuse(source, "Strip is not of one space after Fuse");
            strips_space_ = true;
        }
    }
}

std::string TokenTexts::bytes(std::string_view token, bool added) const {
    // Several replacements could each make a text many times as long.
    const std::size_t longest = 16 * token.size() + 64;
    DecodeToken result{std::string(token), added};
    for (const Decoder& step : decoders_) {
        std::visit(result, step);
        if (result.text.size() > longest)
            throw InputError(fmt::format(
                "{} decodes a token of {} bytes to one of {} (16 times as many are the most) use "
                "another tokenizer",
                source_, token.size(), result.text.size()));
    }
    return std::move(result.text);
}

std::string TokenTexts::first_bytes(std::string_view token, std::string_view bytes) const {
    if (drops_marks_ != nullptr) return replaced(token, drops_marks_->replacement, "");
    if (strips_space_ && bytes.starts_with(' ')) bytes.remove_prefix(1);
    return std::string(bytes);
}

void TokenTexts::require_decoder() const {
    if (decoders_.empty())
        throw InputError(
            fmt::format("{} has no decoder (ids do not become a text again) give it one, such as "
                        "\"decoder\": {{\"type\": \"ByteLevel\"}}",
                        source_));
}

}  // namespace cambrian
