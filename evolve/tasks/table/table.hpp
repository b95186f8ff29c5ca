#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/io/csv/class_labels.hpp"
#include "cambrian/engine/io/csv/csv.hpp"
#include "cambrian/evolve/genome/preparation.hpp"
#include "cambrian/evolve/tasks/labelled_rows.hpp"
#include "cambrian/evolve/tasks/task.hpp"

// The parts of the table task, in the order of their work: settings, data, samples, what is told
// of them.
namespace cambrian::evolve {

enum class TableMode : std::uint8_t { regression, classification };
enum class TableLoss : std::uint8_t { mse, mae, cross_entropy };
enum class Normalise : std::uint8_t { none, min_max, mean_deviation };
inline constexpr std::array<std::string_view, 2> table_mode_names{"regression", "classification"};
inline constexpr std::array<std::string_view, 3> normalise_names{"none", "min_max",
                                                                 "mean_deviation"};
[[nodiscard]] constexpr std::span<const std::string_view> choice_names(TableMode) {
    return table_mode_names;
}
[[nodiscard]] constexpr std::span<const std::string_view> choice_names(Normalise) {
    return normalise_names;
}

/// Settings of a `table` task: `fields` are the keys of its config that hold what the member does;
/// table_settings() reads the others.
struct TableSettings {
    TableMode mode = TableMode::regression;
    TableLoss loss = TableLoss::mse;      ///< Classification: cross_entropy.
    std::vector<std::string> train;       ///< Paths of CSV files, at least one.
    std::vector<std::string> validation;  ///< "validation": {"files": [...]}
    double tail_fraction = 0.0;  ///< "validation": {"tail_fraction": f}, of each train file.
    /// "validation": {"fraction": f}: of all rows, drawn, of each class alike; of a time series
    /// tail_fraction instead.
    double fraction = 0.0;
    std::uint64_t split_seed = 1;  ///< "validation": {"seed": s}, of what is drawn.
    std::vector<std::string> test;
    std::vector<std::string> inputs;   ///< Empty for "all" (with time_offset 0: but the targets).
    std::vector<std::string> targets;  ///< Classification: one column of labels.
    std::int64_t time_offset = 0;      ///< Row t predicts row t + time_offset.
    bool difference = false;           ///< Predict the change since row t; needs a time_offset.
    std::int64_t sequence_length = 0;  ///< Rows of a window; 0: rows are independent, no time.
    /// First rows of a window that do not count in the loss: they did in the window before. In the
    /// first window of a file they do (see cover).
    std::int64_t warm_up = 0;
    Normalise normalise = Normalise::mean_deviation;
    MissingValues missing = MissingValues::error;
    std::int64_t rows_per_evaluation = 0;  ///< Drawn anew for every generation; 0: all rows.
    std::vector<std::string> baselines;
    std::vector<std::int64_t> autoregressive_orders{5, 10};
    bool chosen_baselines = false;  ///< The config names them; else they are those that fit.

    /// Whether the order of rows says something.
    [[nodiscard]] bool in_time() const { return time_offset > 0 || sequence_length > 0; }

    static constexpr FieldRange rows{0.0, 1e9};
    static constexpr FieldRange orders{1.0, 1000.0};
    static constexpr auto fields = FieldTable{
        Field{"mode", &TableSettings::mode},
        Field{"train", &TableSettings::train},
        Field{"test", &TableSettings::test},
        Field{"targets", &TableSettings::targets},
        Field{"time_offset", &TableSettings::time_offset, rows},
        Field{"difference", &TableSettings::difference},
        Field{"sequence_length", &TableSettings::sequence_length, rows},
        Field{"warm_up", &TableSettings::warm_up, rows},
        Field{"normalise", &TableSettings::normalise},
        Field{"missing_values", &TableSettings::missing},
        Field{"rows_per_evaluation", &TableSettings::rows_per_evaluation, rows},
        Field{"autoregressive_orders", &TableSettings::autoregressive_orders, orders},
    };
};

/// Reads them strictly; relative paths start at the context's folder. Throws ConfigError.
[[nodiscard]] TableSettings table_settings(const nlohmann::json& settings,
                                           const TaskContext& context);

/// Consecutive samples of one file: row t as input, row t + time_offset as answer.
struct Series {
    std::string path;
    std::int64_t rows = 0;
    std::vector<double> inputs;   ///< [rows, inputs], as in the file.
    std::vector<double> answers;  ///< [rows, targets], as in the file; class indices.
    std::vector<double> current;  ///< [rows, targets] at row t: what persistence predicts.
    /// Of each row among all rows of the file, those that are left out, too; ascending.
    std::vector<std::int64_t> places;
    /// Targets of the rows of the file up to the last one here, [.., targets], and their places:
    /// from as many before the first one as the baseline autoregressive reads; else empty.
    std::vector<double> past{};
    std::vector<std::int64_t> past_places{};
};

/// The data sets of a table task and the constants of its normalisation, taken from the rows that
/// train.
struct TableData {
    std::vector<std::string> input_names;
    std::vector<double> classes;  ///< Values of the target column, ascending; classification only.
    std::vector<std::string> labels;  ///< Texts that classes stand for, as in Preparation.
    std::vector<Series> train;
    std::vector<Series> validation;
    std::vector<Series> test;
    std::vector<Scaling> inputs;
    /// What a network's output y means: scale · y + shift; with `difference` shift is 0 and the
    /// answer is the change since row t.
    std::vector<Scaling> outputs;
    /// What stands for missing values of each input, in the units of the file; may be empty.
    std::vector<double> fills;
    std::vector<std::string> notes;  ///< How the files were read and divided, a line each.

    [[nodiscard]] const std::vector<Series>& series(Phase phase) const;
};

/// Reads every file. Throws InputError naming file and line, ConfigError as check_goals().
[[nodiscard]] TableData load_table(const TableSettings& settings);

[[nodiscard]] std::int64_t total_rows(std::span<const Series> series);

/// Which rows of each table validate: of all rows a fraction, drawn at random from the rows of each
/// class apart (of all rows where they have no labels), each of which keeps one to train on.
[[nodiscard]] std::vector<std::vector<bool>> drawn_rows(std::span<const NumberTable> tables,
                                                        bool labels, double fraction,
                                                        std::uint64_t seed);

/// Makes indices into the labels of the rows that train of the answers of all series, which are
/// indices into `labels`. Throws InputError for a class that no row to train on has, and for fewer
/// than two.
void number_classes(TableData& data, const ClassLabels& labels, std::string_view target);

/// Replaces missing inputs by constants of the rows that train, and says so in the notes. Throws
/// InputError for a column without any value there.
void fill_missing(TableData& data, MissingValues missing);

/// Whether numbers of that size change by no more than their rounding: they are constant.
[[nodiscard]] bool is_rounding(double change, double size);
/// Sets the constants of the normalisation.
void normalise(TableData& data, const TableSettings& settings);
/// Throws ConfigError for targets to train on whose loss is too small or too large for float32.
void check_goals(const TableData& data, const TableSettings& settings);
/// Standard deviation of what is predicted in the rows that train, of each target.
[[nodiscard]] std::vector<double> target_deviations(const TableData& data,
                                                    const TableSettings& settings);

/// What a table does to its rows: columns by name, the constants of its normalisation, changes that
/// are added to the current value, classes.
[[nodiscard]] Preparation table_preparation(const TableData& data, const TableSettings& settings);

/// The rows of a phase, all series end to end: inputs [rows, inputs], normalised.
[[nodiscard]] Tensor input_rows(const TableData& data, Phase phase);
/// Answers [rows, targets] in the units of the file, but for the shift of outputs; class indices
/// [rows, 1].
[[nodiscard]] Tensor goal_rows(const TableData& data, const TableSettings& settings, Phase phase);
/// Rows of a table [rows, width] at indices, shaped [extents..., width].
[[nodiscard]] Tensor rows_at(const Tensor& table, std::span<const std::int64_t> rows,
                             std::vector<std::int64_t> extents);

/// What gradients learn from: the same rows in the same parts, with answers in the units of
/// outputs. Sequences are windows side by side, of which every step counts; rows after the last
/// whole one are left out. Throws ConfigError for a warm_up.
[[nodiscard]] Learning table_learning(const TableData& data, const TableSettings& settings);

/// Windows of consecutive rows over the rows of some series laid end to end.
struct Windows {
    std::int64_t count = 0;
    std::vector<std::int64_t> rows;  ///< [count, length]
    std::vector<bool> counted;       ///< [count, length]: whether a step is part of the loss.
};

/// Windows in which every row counts exactly once. Each begins `warm_up` rows before the first row
/// it counts; the first window of a series has nothing before it and counts from its first row; the
/// last one reaches back over counted rows to be full. A series shorter than a window repeats its
/// last row, uncounted.
[[nodiscard]] Windows cover(std::span<const Series> series, std::int64_t length,
                            std::int64_t warm_up);

/// All rows of a phase, each once, with answers in the units of the file; sequences are the windows
/// of cover().
[[nodiscard]] LabelledRows table_labelled_rows(const TableData& data, const TableSettings& settings,
                                               Phase phase);

/// Uniform draws with repetition among all windows that lie inside one series; → their rows,
/// [count, length]. Every series has at least `length` rows.
[[nodiscard]] std::vector<std::int64_t> draw_windows(std::span<const Series> series,
                                                     std::int64_t length, std::int64_t count,
                                                     RandomStream& rng);

/// What the user of a table should know of its data before a run, a line each: classes that are no
/// indices or are missing in a part, columns that are not scaled, targets of different scale, no
/// baselines.
[[nodiscard]] std::vector<std::string> table_notes(const TableData& data,
                                                   const TableSettings& settings);

/// What the fitness is measured in, where the network's outputs are scaled.
[[nodiscard]] std::optional<LossUnits> table_loss_units(const TableData& data,
                                                        const TableSettings& settings);

/// What a simple predictor reaches on the rows of a phase, in the units of the file:
/// - persistence: the loss of answering with the target's value at row t;
/// - mean: the loss of always answering with the mean of the target over the train rows;
/// - least_squares: the loss of the linear function of the inputs, with a constant, that fits the
///   train rows best;
/// - majority: the accuracy (share of rows) of always naming the commonest class of the train rows;
/// - frequencies: the cross entropy of always answering with the class frequencies of the train
///   rows.
[[nodiscard]] double table_baseline(std::string_view name, const TableData& data, Phase phase,
                                    TableLoss loss);
/// The loss of the linear function of a target's last `order` values, at row t and before it, with
/// a constant, that fits best those train rows that have as many rows before them in their file
/// (all, where these are not most): AR(order), for each target alone. Before the first row of a
/// file the target is taken to be as it is there.
[[nodiscard]] double autoregressive_baseline(std::int64_t order, const TableData& data, Phase phase,
                                             TableLoss loss);

}  // namespace cambrian::evolve
