#include "cambrian/evolve/tasks/table/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/share.hpp"

namespace cambrian::evolve {
namespace {

/// Rows of a file as samples, each with the answer `offset` rows later.
Series series_of(const NumberTable& table, std::span<const std::int64_t> rows,
                 std::size_t input_count, std::int64_t offset) {
    Series series;
    series.path = table.path;
    series.rows = static_cast<std::int64_t>(rows.size());
    for (const std::int64_t row : rows) {
        series.places.push_back(table.place(row));
        for (std::size_t column = 0; column < input_count; ++column)
            series.inputs.push_back(table.at(row, column));
        for (std::size_t column = input_count; column < table.columns.size(); ++column) {
            series.answers.push_back(table.at(row + offset, column));
            series.current.push_back(table.at(row, column));
        }
    }
    return series;
}

/// The most values of a target that a baseline reads.
std::int64_t longest_past(const TableSettings& settings) {
    if (std::ranges::find(settings.baselines, "autoregressive") == settings.baselines.end())
        return 0;
    std::int64_t longest = 0;
    for (const std::int64_t order : settings.autoregressive_orders)
        longest = std::max(longest, order);
    return longest;
}

/// Gives a series the targets of its file from `length` − 1 rows before row `first` to row `last`.
void keep_past(Series& series, const NumberTable& table, std::size_t input_count,
               std::int64_t first, std::int64_t last, std::int64_t length) {
    if (length == 0) return;
    for (std::int64_t row = std::max<std::int64_t>(0, first - length + 1); row <= last; ++row) {
        series.past_places.push_back(table.place(row));
        for (std::size_t column = input_count; column < table.columns.size(); ++column)
            series.past.push_back(table.at(row, column));
    }
}

/// Rows [begin, end) of a file as samples.
Series samples(const NumberTable& table, std::int64_t begin, std::int64_t end,
               std::size_t input_count, const TableSettings& settings, std::string_view use) {
    const std::int64_t offset = settings.time_offset;
    if (end - begin <= offset)
        throw InputError(fmt::format(
            "{} has {} rows for {} (time_offset {} needs at least {}) use a longer file or another "
            "split",
            table.path, end - begin, use, offset, offset + 1));
    std::vector<std::int64_t> rows;
    for (std::int64_t row = begin; row < end - offset; ++row)
        // Rows that are left out are no steps of time.
        if (table.place(row + offset) - table.place(row) == offset) rows.push_back(row);
    if (rows.empty())
        throw InputError(
            fmt::format("{} has no two rows for {} that are {} apart (rows between them are left "
                        "out for values "
                        "that they lack) fill these",
                        table.path, use, offset));
    Series series = series_of(table, rows, input_count, offset);
    keep_past(series, table, input_count, rows.front(), rows.back(), longest_past(settings));
    return series;
}

/// The files of a table.
struct Files {
    std::vector<NumberTable> train;
    std::vector<NumberTable> validation;
    std::vector<NumberTable> test;

    [[nodiscard]] std::array<std::vector<NumberTable>*, 3> all() {
        return {&train, &validation, &test};
    }
};

std::vector<NumberTable> read_files(std::span<const std::string> paths,
                                    std::span<const std::string> columns,
                                    const TableSettings& settings, TableData& data) {
    std::vector<NumberTable> tables;
    for (const std::string& path : paths) {
        tables.push_back(read_csv(path, columns, settings.missing,
                                  {.targets = settings.targets.size(),
                                   .config = true,
                                   .labels = settings.mode == TableMode::classification}));
        if (settings.sequence_length > 0) require_consecutive(tables.back());
        for (std::string& note : csv_notes(tables.back())) data.notes.push_back(std::move(note));
    }
    return tables;
}

void check_class_numbers(const NumberTable& table) {
    for (std::size_t row = 0; row < table.labels.size(); ++row)
        if (const double value = csv_number(table.labels[row]).value_or(0.0);
            value != std::floor(value))
            throw InputError(fmt::format(
                "{}:{}: column {} holds {} (classes are whole numbers) use mode \"regression\" or "
                "another target",
                table.path, table.lines[row], table.columns.back(), value));
}

/// Puts indices of labels into the last column of all files.
ClassLabels number_labels(Files& files) {
    std::vector<std::string> cells;
    for (const std::vector<NumberTable>* tables : files.all())
        for (const NumberTable& table : *tables)
            cells.insert(cells.end(), table.labels.begin(), table.labels.end());
    ClassLabels labels = class_labels(cells);
    for (std::vector<NumberTable>* tables : files.all())
        for (NumberTable& table : *tables) {
            if (labels.texts.empty()) check_class_numbers(table);
            const std::size_t width = table.columns.size();
            for (std::size_t row = 0; row < table.labels.size(); ++row)
                table.values[(row + 1) * width - 1] =
                    static_cast<double>(labels.find(table.labels[row]).value());
        }
    return labels;
}

/// The rows of training files, a part of which, drawn, validates.
void split_by_chance(const std::vector<NumberTable>& tables, const TableSettings& settings,
                     TableData& data) {
    const bool labels = settings.mode == TableMode::classification;
    const auto drawn = drawn_rows(tables, labels, settings.fraction, settings.split_seed);
    std::int64_t all = 0;
    for (std::size_t file = 0; file < tables.size(); ++file) {
        std::vector<std::int64_t> train;
        std::vector<std::int64_t> validation;
        for (std::int64_t row = 0; row < tables[file].rows; ++row)
            (drawn[file][static_cast<std::size_t>(row)] ? validation : train).push_back(row);
        all += tables[file].rows;
        const std::size_t inputs = data.input_names.size();
        if (!train.empty()) data.train.push_back(series_of(tables[file], train, inputs, 0));
        if (!validation.empty())
            data.validation.push_back(series_of(tables[file], validation, inputs, 0));
    }
    if (data.validation.empty())
        throw ConfigError(
            fmt::format("task.validation.fraction is {} (of {} rows that is none) use a larger "
                        "share, or more rows",
                        settings.fraction, all));
    data.notes.push_back(fmt::format("validation: {} of {} rows, drawn at random{} (seed {})",
                                     total_rows(data.validation), all,
                                     labels ? ", of each class alike" : "", settings.split_seed));
}

/// The rows of training files, the last ones of each of which may validate.
void split_by_order(const std::vector<NumberTable>& tables, const TableSettings& settings,
                    TableData& data) {
    const std::size_t inputs = data.input_names.size();
    for (const NumberTable& table : tables) {
        const std::int64_t tail = whole_share(settings.tail_fraction, table.rows);
        data.train.push_back(samples(table, 0, table.rows - tail, inputs, settings, "training"));
        if (settings.tail_fraction > 0.0)
            data.validation.push_back(
                samples(table, table.rows - tail, table.rows, inputs, settings, "validation"));
    }
    if (settings.fraction > 0.0)
        data.notes.push_back(fmt::format(
            "validation: the last {} of {} rows{}, in their order, for a time series is not "
            "shuffled",
            total_rows(data.validation), total_rows(data.train) + total_rows(data.validation),
            tables.size() > 1 ? ", of each file alike" : ""));
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

    Files files;
    files.train = read_files(settings.train, columns, settings, data);
    files.validation = read_files(settings.validation, columns, settings, data);
    files.test = read_files(settings.test, columns, settings, data);
    ClassLabels labels;
    if (settings.mode == TableMode::classification) labels = number_labels(files);
    if (settings.fraction > 0.0 && !settings.in_time())
        split_by_chance(files.train, settings, data);
    else
        split_by_order(files.train, settings, data);
    const auto whole = [&](const NumberTable& table, std::string_view use) {
        return samples(table, 0, table.rows, data.input_names.size(), settings, use);
    };
    for (const NumberTable& table : files.validation)
        data.validation.push_back(whole(table, "validation"));
    for (const NumberTable& table : files.test) data.test.push_back(whole(table, "testing"));
    if (settings.mode == TableMode::classification)
        number_classes(data, labels, settings.targets[0]);
    fill_missing(data, settings.missing);
    normalise(data, settings);
    check_goals(data, settings);
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
    preparation.missing_values = settings.missing;
    preparation.ahead = settings.time_offset;
    for (std::size_t i = 0; i < data.fills.size(); ++i)
        preparation.inputs[i].fill = preparation.inputs[i].of(data.fills[i]);
    preparation.classes = data.classes;
    preparation.labels = data.labels;
    for (const std::string& label : preparation.class_names())
        preparation.outputs.push_back({.name = fmt::format("{}={}", settings.targets[0], label)});
    if (settings.mode == TableMode::classification) return preparation;
    for (std::size_t i = 0; i < settings.targets.size(); ++i)
        preparation.outputs.push_back({.name = settings.targets[i],
                                       .scaling = data.outputs[i],
                                       .current = settings.difference ? settings.targets[i] : ""});
    return preparation;
}

}  // namespace cambrian::evolve
