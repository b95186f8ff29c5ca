#include "cambrian/evolve/tasks/table/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "cambrian/engine/core/error.hpp"

namespace cambrian::evolve {
namespace {

/// Rows [begin, end) of a file as samples.
Series samples(const NumberTable& table, std::int64_t begin, std::int64_t end,
               std::size_t input_count, std::int64_t offset, std::string_view use) {
    if (end - begin <= offset)
        throw InputError(fmt::format(
            "{} has {} rows for {} (time_offset {} needs at least {}) use a longer file or another "
            "split",
            table.path, end - begin, use, offset, offset + 1));
    Series series;
    series.path = table.path;
    series.rows = end - begin - offset;
    for (std::int64_t row = begin; row < end - offset; ++row) {
        for (std::size_t column = 0; column < input_count; ++column)
            series.inputs.push_back(table.at(row, column));
        for (std::size_t column = input_count; column < table.columns.size(); ++column) {
            series.answers.push_back(table.at(row + offset, column));
            series.current.push_back(table.at(row, column));
        }
    }
    return series;
}

/// Mean and extremes of one column of numbers, in the order of the rows.
class Summary {
  public:
    void add(double value) {
        count_ += 1.0;
        min_ = std::min(min_, value);
        max_ = std::max(max_, value);
        const double step = value - mean_;
        mean_ += step / count_;
        squares_ += step * (value - mean_);
    }
    [[nodiscard]] double deviation() const { return std::sqrt(squares_ / count_); }
    [[nodiscard]] Scaling scaling(Normalise normalise) const {
        switch (normalise) {
            case Normalise::none:
                return {};
            case Normalise::min_max:
                return {.shift = min_, .scale = positive(max_ - min_)};
            case Normalise::mean_deviation:
                return {.shift = mean_, .scale = positive(deviation())};
        }
        return {};
    }
    /// A column that never changes is only shifted.
    static double positive(double scale) { return scale > 0.0 ? scale : 1.0; }

  private:
    double count_ = 0.0;
    double mean_ = 0.0;
    double squares_ = 0.0;
    double min_ = HUGE_VAL;
    double max_ = -HUGE_VAL;
};

std::vector<Scaling> input_scaling(const TableData& data, Normalise normalise) {
    const std::size_t count = data.input_names.size();
    std::vector<Summary> summaries(count);
    for (const Series& series : data.train)
        for (std::size_t i = 0; i < series.inputs.size(); ++i)
            summaries[i % count].add(series.inputs[i]);
    std::vector<Scaling> result;
    for (const Summary& summary : summaries) result.push_back(summary.scaling(normalise));
    return result;
}

std::vector<Scaling> output_scaling(const TableData& data, const TableSettings& settings) {
    const std::size_t count = settings.targets.size();
    std::vector<Summary> summaries(count);
    for (const Series& series : data.train)
        for (std::size_t i = 0; i < series.answers.size(); ++i)
            summaries[i % count].add(series.answers[i] -
                                     (settings.difference ? series.current[i] : 0.0));
    std::vector<Scaling> result;
    for (const Summary& summary : summaries)
        result.push_back(
            settings.difference
                ? Scaling{.shift = 0.0, .scale = Summary::positive(summary.deviation())}
                : summary.scaling(settings.normalise));
    return result;
}

void number_classes(TableData& data, std::string_view target) {
    for (const Series& series : data.train)
        data.classes.insert(data.classes.end(), series.answers.begin(), series.answers.end());
    std::ranges::sort(data.classes);
    const auto repeated = std::ranges::unique(data.classes);
    data.classes.erase(repeated.begin(), repeated.end());
    if (data.classes.size() < 2)
        throw InputError(fmt::format(
            "{}: column {} has one class only, {} (nothing to tell apart) use another target",
            data.train[0].path, target, data.classes[0]));
    for (std::vector<Series>* phase : {&data.train, &data.validation, &data.test})
        for (Series& series : *phase)
            for (double& answer : series.answers) {
                const auto found = std::ranges::lower_bound(data.classes, answer);
                if (found == data.classes.end() || *found != answer)
                    throw InputError(fmt::format(
                        "{}: column {} holds class {} (no train row has it) add train data or "
                        "leave these rows out",
                        series.path, target, answer));
                answer = static_cast<double>(found - data.classes.begin());
            }
}

void check_class_numbers(const NumberTable& table) {
    for (std::int64_t row = 0; row < table.rows; ++row)
        if (const double value = table.at(row, table.columns.size() - 1);
            value != std::floor(value))
            throw InputError(fmt::format(
                "{}:{}: column {} holds {} (classes are whole numbers) use mode \"regression\" or "
                "another target",
                table.path, table.lines[static_cast<std::size_t>(row)], table.columns.back(),
                value));
}

std::vector<std::string> chosen_inputs(const TableSettings& settings) {
    if (!settings.inputs.empty()) return settings.inputs;
    std::vector<std::string> result = read_csv_header(settings.train[0]);
    if (settings.time_offset == 0) {
        const std::unordered_set<std::string> targets(settings.targets.begin(),
                                                      settings.targets.end());
        std::erase_if(result, [&](const std::string& column) { return targets.contains(column); });
    }
    if (result.empty())
        throw InputError(fmt::format(
            "{} has no input columns (every column is a target) add columns or a \"time_offset\"",
            settings.train[0]));
    return result;
}

}  // namespace

const std::vector<Series>& TableData::series(Phase phase) const {
    return phase == Phase::train ? train : phase == Phase::validation ? validation : test;
}

TableData load_table(const TableSettings& settings) {
    TableData data;
    data.input_names = chosen_inputs(settings);
    std::vector<std::string> columns = data.input_names;
    columns.insert(columns.end(), settings.targets.begin(), settings.targets.end());

    const auto load = [&](const std::string& path) {
        NumberTable table = read_csv(path, columns, settings.missing,
                                     {.targets = settings.targets.size(), .config = true});
        if (settings.mode == TableMode::classification) check_class_numbers(table);
        return table;
    };
    const auto part = [&](const NumberTable& table, std::int64_t begin, std::int64_t end,
                          std::string_view use) {
        return samples(table, begin, end, data.input_names.size(), settings.time_offset, use);
    };
    for (const std::string& path : settings.train) {
        const NumberTable table = load(path);
        const auto tail = static_cast<std::int64_t>(
            std::floor(settings.tail_fraction * static_cast<double>(table.rows)));
        data.train.push_back(part(table, 0, table.rows - tail, "training"));
        if (settings.tail_fraction > 0.0)
            data.validation.push_back(part(table, table.rows - tail, table.rows, "validation"));
    }
    for (const std::string& path : settings.validation) {
        const NumberTable table = load(path);
        data.validation.push_back(part(table, 0, table.rows, "validation"));
    }
    for (const std::string& path : settings.test) {
        const NumberTable table = load(path);
        data.test.push_back(part(table, 0, table.rows, "testing"));
    }
    if (settings.mode == TableMode::classification)
        number_classes(data, settings.targets[0]);
    else
        data.outputs = output_scaling(data, settings);
    data.inputs = input_scaling(data, settings.normalise);
    return data;
}

std::int64_t total_rows(std::span<const Series> series) {
    std::int64_t total = 0;
    for (const Series& part : series) total += part.rows;
    return total;
}

Preparation table_preparation(const TableData& data, const TableSettings& settings) {
    Preparation preparation;
    // Windows with a warm-up overlap: what they answer first does not count.
    if (settings.warm_up == 0) preparation.sequence_rows = settings.sequence_length;
    for (std::size_t i = 0; i < data.inputs.size(); ++i)
        preparation.inputs.push_back({.column = data.input_names[i], .scaling = data.inputs[i]});
    preparation.classes = data.classes;
    for (const double value : data.classes)
        preparation.outputs.push_back({.name = fmt::format("{}={}", settings.targets[0], value)});
    if (settings.mode == TableMode::classification) return preparation;
    for (std::size_t i = 0; i < settings.targets.size(); ++i)
        preparation.outputs.push_back({.name = settings.targets[i],
                                       .scaling = data.outputs[i],
                                       .current = settings.difference ? settings.targets[i] : ""});
    return preparation;
}

}  // namespace cambrian::evolve
