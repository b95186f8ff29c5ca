#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/field_json.hpp"
#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/core/share.hpp"
#include "cambrian/engine/io/csv/fill.hpp"
#include "cambrian/engine/train/source.hpp"

// Rows of a source as parts that train, validate and test.
namespace cambrian {
namespace {

/// Rows of a part: a share of all of them below 1, else a number.
std::int64_t rows_of_part(double part, std::int64_t rows, const char* key) {
    if (part < 1.0) {
        const std::int64_t share = whole_share(part, rows);
        if (part > 0.0 && share == 0)
            throw ConfigError(fmt::format(
                "task.split.{} is {} (of {} rows that is none) use a larger share, or 0", key, part,
                rows));
        return share;
    }
    if (part != std::floor(part))
        throw ConfigError(
            fmt::format("task.split.{} is {} (below 1 it is a share, from 1 on a whole number of "
                        "rows) change it",
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

/// Rows such that any stretch of them has nearly its share of every class: the k-th of the n rows
/// of a class stands at (k + 1/2) / n of the whole; of equal places the first class, then the first
/// row.
std::vector<std::int64_t> stratified(const Tensor& classes, std::span<const std::int64_t> order) {
    std::map<double, std::vector<std::int64_t>> strata;
    for (const std::int64_t row : order)
        strata[classes.elements[static_cast<std::size_t>(row)]].push_back(row);
    std::vector<std::pair<double, std::int64_t>> placed;
    for (const auto& [label, rows] : strata)
        for (std::size_t k = 0; k < rows.size(); ++k)
            placed.emplace_back((static_cast<double>(k) + 0.5) / static_cast<double>(rows.size()),
                                rows[k]);
    std::ranges::stable_sort(placed, {}, &std::pair<double, std::int64_t>::first);
    std::vector<std::int64_t> result;
    for (const auto& [place, row] : placed) result.push_back(row);
    return result;
}

/// Rows in the order in which parts are cut from them.
std::vector<std::int64_t> split_order(const Tensor& targets, const Split& split,
                                      std::uint64_t seed) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(targets.shape[0]));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    if (split.stratify && !split.shuffle)
        throw ConfigError(
            "task.split.stratify is true (task.split.shuffle is false, and rows in their order are "
            "no share of every class) leave one of the two out");
    if (split.stratify && (targets.type != ValueType::integer || targets.shape.rank() != 1))
        throw ConfigError(
            "task.split.stratify is true (rows have a class each where a loss of classes is used, "
            "without sequences) leave it out");
    if (!split.shuffle) return order;
    RandomStream stream(random_key(seed, "train/split"), 0);
    for (std::size_t left = order.size(); left > 1; --left)
        std::swap(order[left - 1], order[stream.index(static_cast<std::uint32_t>(left))]);
    return split.stratify ? stratified(targets, order) : order;
}

/// Throws ConfigError for targets of a loss of probabilities that are none.
void require_shares(const SourceRows& rows, const Loss& loss) {
    for (const double target : rows.targets.elements)
        if (!(target >= 0.0 && target <= 1.0))
            throw ConfigError(
                fmt::format("{} is a target of {} (a target is a probability, from 0 to 1) divide "
                            "what is in percent by 100, or use mse",
                            target, name(loss)));
}

/// Targets as the loss takes them.
void fit_targets(SourceRows& rows, const Loss& loss) {
    if (wants_classes(loss) == (rows.classes > 0)) {
        if (!wants_classes(loss) && has_accuracy(loss)) require_shares(rows, loss);
        return;
    }
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
    if (rows.targets.shape.rank() >= rows.inputs.shape.rank())
        throw ConfigError(
            fmt::format("{} needs numbers (the source has integers {} as targets of {}, which are "
                        "classes) store several bits of a row as floats",
                        name(loss), rows.targets.shape.text(), rows.inputs.shape.text()));
    // Two classes are one number.
    std::vector<std::int64_t> extents(rows.targets.shape.extents().begin(),
                                      rows.targets.shape.extents().end());
    extents.push_back(1);
    rows.targets = Tensor(ValueType::real, Shape(extents), std::move(rows.targets.elements));
    rows.classes = 0;
}

/// The values of one input that there are.
std::vector<double> present_values(const Tensor& inputs, std::size_t input) {
    const auto width = static_cast<std::size_t>(inputs.shape[-1]);
    std::vector<double> values;
    for (std::size_t i = input; i < inputs.elements.size(); i += width)
        if (!std::isnan(inputs.elements[i])) values.push_back(inputs.elements[i]);
    return values;
}

/// NaN becomes the mean or median of the rows that train.
void fill_missing_inputs(DataSet& data, const SourceRows& rows) {
    if (!fills(rows.missing_values)) return;
    const std::string_view how =
        missing_values_names[static_cast<std::size_t>(rows.missing_values)];
    const auto width = static_cast<std::size_t>(rows.inputs.shape[-1]);
    for (std::size_t input = 0; input < width; ++input) {
        const auto value =
            fill_value(present_values(data.train.inputs, input), rows.missing_values);
        if (!value)
            throw InputError(fmt::format(
                "column {} has no value in the rows that train (there is no {} of nothing) list "
                "the other columns as \"inputs\"",
                rows.input_names[input], how));
        data.fills.push_back(*value);
    }
    std::int64_t filled = 0;
    for (Samples* part : {&data.train, &data.validation, &data.test})
        for (std::size_t i = 0; i < part->inputs.elements.size(); ++i)
            if (double& value = part->inputs.elements[i]; std::isnan(value)) {
                value = data.fills[i % width];
                ++filled;
            }
    if (filled > 0)
        data.notes.push_back(fmt::format(
            "{} missing values: the {} of the rows that train stands for them", filled, how));
}

}  // namespace

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
    const std::vector<std::int64_t> order = split_order(rows.targets, split, seed);
    const auto part = [&](std::int64_t first, std::int64_t count) {
        const auto indices = std::span(order).subspan(static_cast<std::size_t>(first),
                                                      static_cast<std::size_t>(count));
        return Samples{chosen(rows.inputs, indices), chosen(rows.targets, indices)};
    };
    DataSet data{.train = part(0, train),
                 .validation = part(train, validation),
                 .test = part(all - test, test),
                 .outputs = rows.classes > 0 ? rows.classes : rows.targets.shape[-1]};
    if (split.stratify && validation + test > 0)
        data.notes.push_back(
            fmt::format("{} of {} rows validate and {} test, drawn at random, of "
                        "each class alike (seed {})",
                        validation, all, test, seed));
    fill_missing_inputs(data, rows);
    require_measurable(loss, data.train.targets.elements);
    return data;
}

}  // namespace cambrian
