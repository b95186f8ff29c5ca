#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cambrian/evolve/genome/preparation.hpp"
#include "cambrian/evolve/tasks/table/data.hpp"
#include "cambrian/evolve/tasks/table/settings.hpp"
#include "cambrian/evolve/tasks/task.hpp"

namespace cambrian::evolve {

/// Consecutive samples of one file: row t as input, row t + time_offset as answer.
struct Series {
    std::string path;
    std::int64_t rows = 0;
    std::vector<double> inputs;   ///< [rows, inputs], as in the file.
    std::vector<double> answers;  ///< [rows, targets], as in the file; class indices.
    std::vector<double> current;  ///< [rows, targets] at row t: what persistence predicts.
};

/// The data sets of a table task and the constants of its normalisation, taken from the rows that
/// train.
struct TableData {
    std::vector<std::string> input_names;
    std::vector<double> classes;  ///< Values of the target column, ascending; classification only.
    std::vector<Series> train;
    std::vector<Series> validation;
    std::vector<Series> test;
    std::vector<Scaling> inputs;
    /// What a network's output y means: scale · y + shift; with `difference` shift is 0 and the
    /// answer is the change since row t.
    std::vector<Scaling> outputs;

    [[nodiscard]] const std::vector<Series>& series(Phase phase) const;
};

/// Reads every file. Throws InputError naming file and line.
[[nodiscard]] TableData load_table(const TableSettings& settings);

[[nodiscard]] std::int64_t total_rows(std::span<const Series> series);

/// What a table does to its rows: columns by name, the constants of its normalisation, changes that
/// are added to the current value, classes.
[[nodiscard]] Preparation table_preparation(const TableData& data, const TableSettings& settings);

}  // namespace cambrian::evolve
