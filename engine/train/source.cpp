#include "cambrian/engine/train/source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_set>
#include <variant>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/kinds.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/engine/io/csv/csv.hpp"
#include "cambrian/engine/train/source_kinds.hpp"

namespace cambrian {
namespace {

using field_json::Kind;

using Source = std::variant<XorSource, SineSource, SpiralsSource, BlobsSource, DelaySource,
                            CsvSource, IdxSource, SafetensorsSource, TextSource>;

const std::vector<Kind<Source>>& source_kinds() {
    static const std::vector<Kind<Source>> table{
        {"xor", XorSource{}, "The four rows of exclusive or."},
        {"sine", SineSource{}, "y = sin(pi cycles x) for x from -1 to 1."},
        {"spirals", SpiralsSource{}, "Two spirals around each other, one class each."},
        {"blobs", BlobsSource{}, "Normal clouds, one class each."},
        {"delay", DelaySource{},
         "Sequences of random -1 and 1; the target is the input some steps ago."},
        {"csv", CsvSource{}, "Columns of CSV files with a header line.", {"files", "targets"}},
        {"idx",
         IdxSource{},
         "Samples and labels as MNIST comes, gzipped or plain.",
         {"inputs", "targets"}},
        {"safetensors", SafetensorsSource{}, "Two tensors of a file.", {"file"}},
        {"text", TextSource{}, "A text: the next token at every position.", {"file"}}};
    return table;
}

/// One file twice, whose rows would count twice, some to learn from and to validate with.
void check_files(const CsvSource& csv, std::string_view path, const SourceContext& context) {
    std::set<std::filesystem::path> named;
    for (const std::string& file : csv.files)
        if (!named.insert((context.base_directory / file).lexically_normal()).second)
            json_read::fail(json_read::member(path, "files"),
                            fmt::format("names \"{}\" twice", shortened(file)),
                            "its rows would count twice", "leave one of the two out");
}

/// A column twice, or a target among the inputs, which would be learnt by heart.
void check_columns(const CsvSource& csv, std::string_view path) {
    std::unordered_set<std::string_view> named;
    for (const std::string& target : csv.targets)
        if (!named.insert(target).second)
            json_read::fail(json_read::member(path, "targets"),
                            fmt::format("names \"{}\" twice", shortened(target)),
                            "a column is predicted once", "leave one of the two out");
    std::unordered_set<std::string_view> inputs;
    for (const std::string& input : csv.inputs) {
        if (named.contains(input))
            json_read::fail(json_read::member(path, "inputs"),
                            fmt::format("holds the target \"{}\"", shortened(input)),
                            "the network would read its own answer", "leave it out");
        if (!inputs.insert(input).second)
            json_read::fail(json_read::member(path, "inputs"),
                            fmt::format("names \"{}\" twice", shortened(input)),
                            "a column is read once", "leave one of the two out");
    }
}

/// What ranges of single settings do not say; names of files and columns have no default.
void check_settings(const Source& source, std::string_view path, const SourceContext& context) {
    const auto need = [&](std::string_view key, bool named) {
        if (!named)
            json_read::fail(json_read::member(path, key), "is empty", "nothing to read", "name it");
    };
    if (const auto* csv = std::get_if<CsvSource>(&source)) {
        need("files", !csv->files.empty());
        need("targets", !csv->targets.empty());
        check_files(*csv, path, context);
        check_columns(*csv, path);
        if (csv->classes && csv->targets.size() > 1)
            json_read::fail(json_read::member(path, "targets"), "names several columns",
                            "classes are in one", "name one");
    } else if (const auto* idx = std::get_if<IdxSource>(&source)) {
        need("inputs", !idx->inputs.empty());
        need("targets", !idx->targets.empty());
    } else if (const auto* file = std::get_if<SafetensorsSource>(&source)) {
        need("file", !file->file.empty());
    } else if (const auto* text = std::get_if<TextSource>(&source)) {
        need("file", !text->file.empty());
        need("tokenizer", !text->tokenizer.empty());
        if (text->vocabulary > 0 && !text->reads_tokenizer_file())
            json_read::fail(json_read::member(path, "vocabulary"),
                            fmt::format("is {}", text->vocabulary),
                            fmt::format("the {} of a text are all that a network answers with",
                                        text->tokenizer),
                            "leave it out, or name a tokenizer.json");
    } else if (const auto* delay = std::get_if<DelaySource>(&source)) {
        if (delay->delay >= delay->steps)
            json_read::fail(json_read::member(path, "delay"), fmt::format("is {}", delay->delay),
                            fmt::format("a sequence has {} steps", delay->steps),
                            "use a shorter one");
    }
}

/// One number that is none would spoil every loss.
/// @param gaps where NaN is what is still to be filled.
void check_finite(const Tensor& values, std::string_view what, std::string_view path,
                  bool gaps = false) {
    const auto wrong = std::ranges::find_if(values.elements, [&](double value) {
        return !std::isfinite(static_cast<float>(value)) && !(gaps && std::isnan(value));
    });
    if (wrong != values.elements.end())
        throw InputError(fmt::format(
            "{}: element {} of the {} {} is {} (finite numbers are needed, as floats too) mend the "
            "file or its \"scale\"",
            path, wrong - values.elements.begin(), what, values.shape.text(), *wrong));
}

}  // namespace

std::span<const std::string_view> source_types() {
    static const std::vector<std::string_view> names = field_json::names(source_kinds());
    return names;
}

SourceRows read_source(const nlohmann::json& json, std::string_view path,
                       const SourceContext& context) {
    const Source source = field_json::read_kind(json, path, source_kinds());
    check_settings(source, path, context);
    SourceRows rows = std::visit([&](const auto& kind) { return rows_of(kind, context); }, source);
    check_finite(rows.inputs, "inputs", path, fills(rows.missing_values));
    check_finite(rows.targets, "targets", path);
    return rows;
}

nlohmann::ordered_json source_defaults(std::string_view type) {
    const Source source =
        field_json::read_kind(nlohmann::json{{"type", type}}, "source", source_kinds());
    nlohmann::ordered_json json;
    field_json::write_kind(json, type, source);
    return json;
}

nlohmann::ordered_json source_schema() {
    nlohmann::ordered_json variants;
    field_json::describe_kinds(variants, source_kinds());
    return variants;
}

}  // namespace cambrian
