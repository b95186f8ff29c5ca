#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/generation/plain_tokenizers.hpp"
#include "cambrian/engine/io/container.hpp"
#include "cambrian/engine/text/tokenizer_json.hpp"
#include "cambrian/engine/train/source_kinds.hpp"

namespace cambrian {
namespace {

std::string read_text(const std::filesystem::path& path) {
    const std::vector<std::byte> bytes = read_file(path);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A text as ids, and what these are; labels where ids are not what a user knows them by.
struct TokenText {
    std::vector<std::int64_t> ids;
    std::int64_t vocabulary = 0;
    std::string unit;
    std::vector<double> labels{};
    std::optional<Hash128> tokenizer{};
};

TokenText tokens_of(const TextSource& source, const SourceContext& context) {
    const std::filesystem::path path = context.base_directory / source.file;
    const std::string text = read_text(path);
    const auto encoded = [&](const Tokenizer& tokenizer, std::string_view unit) {
        return TokenText{tokenizer.encode(text, Surround::no), tokenizer.size(), std::string(unit)};
    };
    if (source.tokenizer == "bytes") {  // of any file: it need not be a text
        TokenText bytes{{}, byte_tokenizer().size(), std::string(byte_unit)};
        for (const char byte : text) bytes.ids.push_back(static_cast<std::uint8_t>(byte));
        return bytes;
    }
    if (source.reads_tokenizer_file()) {
        const Tokenizer tokenizer = read_tokenizer(context.base_directory / source.tokenizer);
        TokenText tokens = encoded(tokenizer, token_unit);
        tokens.tokenizer = tokenizer_hash(tokenizer.definition());
        return tokens;
    }
    const std::vector<std::int64_t> characters = characters_of(text, path.string());
    TokenText result = encoded(character_tokenizer(characters), character_unit);
    result.labels.assign(characters.begin(), characters.end());
    return result;
}

/// Outputs for all tokens, and for ids that are none where a network has more.
std::int64_t classes_of(const TextSource& source, std::int64_t tokens) {
    if (source.vocabulary == 0) return tokens;
    if (source.vocabulary < tokens)
        throw ConfigError(fmt::format(
            "\"vocabulary\" is {} ({} has {} tokens) use as many as the network has outputs, or 0",
            source.vocabulary, source.tokenizer, tokens));
    return source.vocabulary;
}

/// Targets whose label the loss ignores; its number is no index of a label.
void leave_out(SourceRows& rows, const SourceContext& context, const std::string& place) {
    if (rows.class_values.empty() || !context.ignored) {
        note_ignored(rows, context, place);
        return;
    }
    std::int64_t count = 0;
    for (double& target : rows.targets.elements) {
        if (rows.class_values[static_cast<std::size_t>(target)] !=
            static_cast<double>(*context.ignored))
            continue;
        target = static_cast<double>(no_index);
        ++count;
    }
    rows.ignored = no_index;
    note_ignored(rows, count, context, place);
}

}  // namespace

SourceRows rows_of(const TextSource& source, const SourceContext& context) {
    const TokenText text = tokens_of(source, context);
    const std::string place = (context.base_directory / source.file).string();
    const auto length = static_cast<std::int64_t>(text.ids.size());
    const std::int64_t rows = (length - 1) / source.context;
    if (length < 2 || rows < 1)
        throw InputError(fmt::format(
            "{} has {} {}s (a sequence has {} and one to predict) use a longer text, or a shorter "
            "\"context\"",
            place, length, text.unit, source.context));
    // A loss of numbers learns a single label, too.
    if (context.ignored && text.vocabulary < 2)
        check_class_count(static_cast<std::size_t>(text.vocabulary), place, "use another text");
    SourceRows result{Tensor(ValueType::real, Shape{rows, source.context, 1}),
                      Tensor(ValueType::integer, Shape{rows, source.context}),
                      classes_of(source, text.vocabulary)};
    for (std::size_t i = 0; i < result.targets.elements.size(); ++i) {
        result.inputs.elements[i] = static_cast<double>(text.ids[i]);
        result.targets.elements[i] = static_cast<double>(text.ids[i + 1]);
    }
    result.class_values = text.labels;
    leave_out(result, context, place);
    result.input_names = {text.unit};
    result.target_names = {std::string(next_prefix) + text.unit};
    result.tokenizer = text.tokenizer;
    result.notes.push_back(fmt::format("{} {}s of {} kinds: {} sequences of {}, {} left out",
                                       length, text.unit, text.vocabulary, rows, source.context,
                                       length - 1 - rows * source.context));
    return result;
}

}  // namespace cambrian
