#include "cambrian/engine/train/source.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <unordered_set>
#include <variant>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/kinds.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/io/csv.hpp"
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

/// Names of files and columns have no default.
void check_named(const Source& source, std::string_view path) {
    const auto need = [&](std::string_view key, bool named) {
        if (!named)
            json_read::fail(json_read::member(path, key), "is empty", "nothing to read", "name it");
    };
    if (const auto* csv = std::get_if<CsvSource>(&source)) {
        need("files", !csv->files.empty());
        need("targets", !csv->targets.empty());
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
    }
}

/// One number that is none would spoil every loss.
void check_finite(const Tensor& values, std::string_view what, std::string_view path) {
    const auto wrong = std::ranges::find_if(
        values.elements, [](double value) { return !std::isfinite(static_cast<float>(value)); });
    if (wrong != values.elements.end())
        throw InputError(fmt::format(
            "{}: element {} of the {} {} is {} (finite numbers are needed, as floats too) mend the "
            "file or its \"scale\"",
            path, wrong - values.elements.begin(), what, values.shape.text(), *wrong));
}

/// Rows of a part: a share of all of them below 1, else a number.
std::int64_t rows_of_part(double part, std::int64_t rows, const char* key) {
    if (part < 1.0) {
        const double share = std::floor(part * static_cast<double>(rows));
        if (part > 0.0 && share == 0.0)
            throw ConfigError(
                fmt::format("split.{} is {} (of {} rows that is none) use a larger share, or 0",
                            key, part, rows));
        return static_cast<std::int64_t>(share);
    }
    if (part != std::floor(part))
        throw ConfigError(fmt::format(
            "split.{} is {} (below 1 it is a share, from 1 on a whole number of rows) change it",
            key, part));
    return static_cast<std::int64_t>(part);
}

Tensor chosen(const Tensor& table, std::span<const std::int64_t> rows) {
    std::vector<std::int64_t> extents(table.shape.extents().begin(), table.shape.extents().end());
    const std::int64_t width = extents[0] == 0 ? 0 : table.shape.elements() / extents[0];
    extents[0] = static_cast<std::int64_t>(rows.size());
    Tensor result(table.type, Shape(extents));
    auto target = result.elements.begin();
    for (const std::int64_t row : rows)
        target = std::copy_n(table.elements.begin() + row * width, width, target);
    return result;
}

/// Targets as the loss takes them.
void fit_targets(SourceRows& rows, const Loss& loss) {
    if (wants_classes(loss) == (rows.classes > 0)) return;
    if (wants_classes(loss))
        throw ConfigError(fmt::format(
            "{} needs classes (the source has numbers as targets) use a loss of numbers "
            "such as mse, or a source of classes: \"classes\": true in a csv source, "
            "integers in a safetensors file",
            name(loss)));
    if (rows.classes > 2)
        throw ConfigError(
            fmt::format("{} needs numbers (the source has {} classes) use cross_entropy",
                        name(loss), rows.classes));
    // Two classes are one number.
    std::vector<std::int64_t> extents(rows.targets.shape.extents().begin(),
                                      rows.targets.shape.extents().end());
    extents.push_back(1);
    rows.targets = Tensor(ValueType::real, Shape(extents), std::move(rows.targets.elements));
    rows.classes = 0;
}

}  // namespace

std::span<const std::string_view> source_types() {
    static const std::vector<std::string_view> names = field_json::names(source_kinds());
    return names;
}

SourceRows read_source(const nlohmann::json& json, std::string_view path,
                       const SourceContext& context) {
    const Source source = field_json::read_kind(json, path, source_kinds());
    check_named(source, path);
    SourceRows rows = std::visit([&](const auto& kind) { return rows_of(kind, context); }, source);
    check_finite(rows.inputs, "inputs", path);
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

Split split_from_json(const nlohmann::json& json, std::string_view path) {
    Split split;
    field_json::read_fields(split, json, path);
    return split;
}

nlohmann::ordered_json to_json(const Split& split) {
    nlohmann::ordered_json json;
    field_json::write_fields(json, split);
    return json;
}

DataSet make_data_set(SourceRows rows, const Split& split, const Loss& loss, std::uint64_t seed) {
    fit_targets(rows, loss);
    const std::int64_t all = rows.inputs.shape[0];
    const std::int64_t validation = rows_of_part(split.validation, all, "validation");
    const std::int64_t test = rows_of_part(split.test, all, "test");
    const std::int64_t train =
        split.train == 0.0 ? all - validation - test : rows_of_part(split.train, all, "train");
    if (train < 1 || train + validation + test > all)
        throw ConfigError(fmt::format(
            "the split takes {} rows to train, {} to validate and {} to test (there are {}) use "
            "smaller parts",
            train, validation, test, all));
    std::vector<std::int64_t> order(static_cast<std::size_t>(all));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    if (split.shuffle) {
        RandomStream stream(random_key(seed, "train/split"), 0);
        for (std::size_t left = order.size(); left > 1; --left)
            std::swap(order[left - 1], order[stream.index(static_cast<std::uint32_t>(left))]);
    }
    const auto part = [&](std::int64_t first, std::int64_t count) {
        const auto indices = std::span(order).subspan(static_cast<std::size_t>(first),
                                                      static_cast<std::size_t>(count));
        return Samples{chosen(rows.inputs, indices), chosen(rows.targets, indices)};
    };
    return {.train = part(0, train),
            .validation = part(train, validation),
            .test = part(all - test, test),
            .outputs = rows.classes > 0 ? rows.classes : rows.targets.shape[-1]};
}

}  // namespace cambrian
