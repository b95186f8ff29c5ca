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
#include "cambrian/engine/core/json/json_read.hpp"
#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/core/shortened.hpp"
#include "cambrian/engine/io/csv.hpp"
#include "cambrian/engine/train/setting_fields.hpp"
#include "cambrian/engine/train/source_kinds.hpp"

namespace cambrian {
namespace {

using Source = std::variant<XorSource, SineSource, SpiralsSource, BlobsSource, DelaySource,
                            CsvSource, IdxSource, SafetensorsSource>;

constexpr FieldRange many{1.0, 1e8};
constexpr FieldRange few{1.0, 1e4};

std::vector<SettingField> fields(XorSource&) {
    return {};
}
std::vector<SettingField> fields(SineSource& sine) {
    return {{"rows", &sine.rows, many},
            {"cycles", &sine.cycles, {0.0, 100.0, true}},
            {"noise", &sine.noise, not_negative}};
}
std::vector<SettingField> fields(SpiralsSource& spirals) {
    return {{"rows", &spirals.rows, many},
            {"turns", &spirals.turns, {0.0, 100.0, true}},
            {"noise", &spirals.noise, not_negative}};
}
std::vector<SettingField> fields(BlobsSource& blobs) {
    return {{"rows", &blobs.rows, many},
            {"classes", &blobs.classes, {2.0, 1e4}},
            {"features", &blobs.features, few},
            {"spread", &blobs.spread, not_negative}};
}
std::vector<SettingField> fields(DelaySource& delay) {
    return {{"rows", &delay.rows, many},
            {"steps", &delay.steps, few},
            {"delay", &delay.delay, {0.0, 1e4}}};
}
std::vector<SettingField> fields(CsvSource& csv) {
    return {{"files", &csv.files},
            {"inputs", &csv.inputs},
            {"targets", &csv.targets},
            {"classes", &csv.classes},
            {"steps", &csv.steps, {0.0, 1e6}},
            {"scale", &csv.scale, positive},
            {"missing_values", &csv.missing_values}};
}
std::vector<SettingField> fields(IdxSource& idx) {
    return {{"inputs", &idx.inputs}, {"targets", &idx.targets}, {"scale", &idx.scale, positive}};
}
std::vector<SettingField> fields(SafetensorsSource& file) {
    return {{"file", &file.file},
            {"inputs", &file.inputs},
            {"targets", &file.targets},
            {"sequences", &file.sequences},
            {"scale", &file.scale, positive}};
}
std::vector<SettingField> fields(Source& source) {
    return std::visit([](auto& kind) { return fields(kind); }, source);
}

constexpr std::array<std::string_view, 8> names{"xor",   "sine", "spirals", "blobs",
                                                "delay", "csv",  "idx",     "safetensors"};
/// In the order of the variant and of the names.
const std::array<Source, names.size()>& defaults() {
    static const std::array<Source, names.size()> table{
        XorSource{},   SineSource{}, SpiralsSource{}, BlobsSource{},
        DelaySource{}, CsvSource{},  IdxSource{},     SafetensorsSource{}};
    return table;
}
static_assert(std::variant_size_v<Source> == names.size());

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
        (void)json_read::choice(csv->missing_values, json_read::member(path, "missing_values"),
                                missing_values_names);
        if (csv->classes && csv->targets.size() > 1)
            json_read::fail(json_read::member(path, "targets"), "names several columns",
                            "classes are in one", "name one");
    } else if (const auto* idx = std::get_if<IdxSource>(&source)) {
        need("inputs", !idx->inputs.empty());
        need("targets", !idx->targets.empty());
    } else if (const auto* file = std::get_if<SafetensorsSource>(&source)) {
        need("file", !file->file.empty());
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

std::vector<SettingField> fields(Split& split) {
    constexpr FieldRange rows{0.0, 1e9};
    return {{"train", &split.train, rows},
            {"validation", &split.validation, rows},
            {"test", &split.test, rows},
            {"shuffle", &split.shuffle}};
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
    return names;
}

SourceRows read_source(const nlohmann::json& json, std::string_view path,
                       const SourceContext& context) {
    Source source = defaults()[read_type(json, path, names)];
    read_fields(json, path, fields(source), std::array<std::string_view, 1>{"type"});
    check_named(source, path);
    SourceRows rows = std::visit([&](const auto& kind) { return rows_of(kind, context); }, source);
    check_finite(rows.inputs, "inputs", path);
    check_finite(rows.targets, "targets", path);
    return rows;
}

nlohmann::ordered_json source_defaults(std::string_view type) {
    Source source = defaults()[read_type(nlohmann::json{{"type", type}}, "source", names)];
    nlohmann::ordered_json json{{"type", type}};
    write_fields(json, fields(source));
    return json;
}

Split split_from_json(const nlohmann::json& json, std::string_view path) {
    Split split;
    read_fields(json, path, fields(split), {});
    return split;
}

nlohmann::ordered_json to_json(const Split& split) {
    Split copy = split;
    nlohmann::ordered_json json = nlohmann::ordered_json::object();
    write_fields(json, fields(copy));
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
