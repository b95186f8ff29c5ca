#include <fmt/format.h>

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
    if (source.tokenizer != "characters")
        return encoded(read_tokenizer(context.base_directory / source.tokenizer), token_unit);
    const std::vector<std::int64_t> characters = characters_of(text, path.string());
    TokenText result = encoded(character_tokenizer(characters), character_unit);
    result.labels.assign(characters.begin(), characters.end());
    return result;
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
                      Tensor(ValueType::integer, Shape{rows, source.context}), text.vocabulary};
    for (std::size_t i = 0; i < result.targets.elements.size(); ++i) {
        result.inputs.elements[i] = static_cast<double>(text.ids[i]);
        result.targets.elements[i] = static_cast<double>(text.ids[i + 1]);
    }
    result.class_values = text.labels;
    leave_out(result, context, place);
    result.input_names = {text.unit};
    result.target_names = {"next_" + text.unit};
    result.notes.push_back(fmt::format("{} {}s of {} kinds: {} sequences of {}, {} left out",
                                       length, text.unit, text.vocabulary, rows, source.context,
                                       length - 1 - rows * source.context));
    return result;
}

}  // namespace cambrian
