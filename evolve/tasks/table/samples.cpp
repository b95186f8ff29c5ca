#include "cambrian/evolve/tasks/table/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"

namespace cambrian::evolve {
namespace {

Loss loss_of(TableLoss loss) {
    switch (loss) {
        case TableLoss::mse:
            return MeanSquaredError{};
        case TableLoss::mae:
            return MeanAbsoluteError{};
        case TableLoss::cross_entropy:
            return CrossEntropy{};
    }
    return {};
}

/// Rows of whole windows, series by series.
std::vector<std::int64_t> window_rows(std::span<const Series> series, std::int64_t length) {
    std::vector<std::int64_t> rows;
    std::int64_t first = 0;
    for (const Series& part : series) {
        for (std::int64_t row = 0; row < part.rows / length * length; ++row)
            rows.push_back(first + row);
        first += part.rows;
    }
    return rows;
}

Samples samples(const TableData& data, const TableSettings& settings, Phase phase) {
    if (data.series(phase).empty()) return {};
    Samples result{input_rows(data, phase), goal_rows(data, settings, phase)};
    const std::size_t width = data.outputs.size();
    for (std::size_t i = 0; width > 0 && i < result.targets.elements.size(); ++i)
        result.targets.elements[i] /= data.outputs[i % width].scale;
    if (const std::int64_t length = settings.sequence_length; length > 0) {
        const std::vector<std::int64_t> rows = window_rows(data.series(phase), length);
        const auto count = static_cast<std::int64_t>(rows.size()) / length;
        if (count == 0)
            throw ConfigError(fmt::format(
                "task.sequence_length is {} (no series of the {} part is that long) use shorter "
                "sequences, longer files, or a greater part",
                length, name(phase)));
        result = {rows_at(result.inputs, rows, {count, length}),
                  rows_at(result.targets, rows, {count, length})};
    }
    if (settings.mode == TableMode::classification) {
        const auto extents = result.targets.shape.extents();
        result.targets.shape = Shape(extents.first(extents.size() - 1));
    }
    return result;
}

/// Raises the largest size of each column to that of these rows.
void raise(std::vector<double>& largest, std::span<const double> rows) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
        double& size = largest[i % largest.size()];
        size = std::max(size, std::abs(rows[i]));
    }
}

}  // namespace

Tensor input_rows(const TableData& data, Phase phase) {
    const std::size_t width = data.inputs.size();
    const auto& series = data.series(phase);
    Tensor result(ValueType::real, Shape{total_rows(series), static_cast<std::int64_t>(width)});
    std::size_t position = 0;
    for (const Series& part : series)
        for (std::size_t i = 0; i < part.inputs.size(); ++i) {
            const Scaling& scaling = data.inputs[i % width];
            result.elements[position++] = (part.inputs[i] - scaling.shift) / scaling.scale;
        }
    return result;
}

Tensor goal_rows(const TableData& data, const TableSettings& settings, Phase phase) {
    const bool classifies = settings.mode == TableMode::classification;
    const auto& series = data.series(phase);
    const std::size_t width = settings.targets.size();
    Tensor result(classifies ? ValueType::integer : ValueType::real,
                  Shape{total_rows(series), static_cast<std::int64_t>(width)});
    std::size_t position = 0;
    for (const Series& part : series)
        for (std::size_t i = 0; i < part.answers.size(); ++i) {
            double goal = part.answers[i];
            if (settings.difference) goal -= part.current[i];
            if (!classifies) goal -= data.outputs[i % width].shift;
            result.elements[position++] = goal;
        }
    return result;
}

void check_goals(const TableData& data, const TableSettings& settings) {
    std::vector<double> goals = goal_rows(data, settings, Phase::train).elements;
    const std::size_t width = settings.targets.size();
    std::vector<double> sizes(width, 0.0);
    for (const Series& part : data.train) raise(sizes, part.answers);
    std::vector<double> changes(width, 0.0);
    raise(changes, goals);
    // What is left of a constant without its shift.
    for (std::size_t i = 0; i < goals.size(); ++i)
        if (is_rounding(changes[i % width], sizes[i % width])) goals[i] = 0.0;
    require_measurable(loss_of(settings.loss), goals);
}

Tensor rows_at(const Tensor& table, std::span<const std::int64_t> rows,
               std::vector<std::int64_t> extents) {
    const std::int64_t width = table.shape[1];
    extents.push_back(width);
    Tensor result(table.type, Shape(extents));
    auto target = result.elements.begin();
    for (const std::int64_t row : rows)
        target = std::copy_n(table.elements.begin() + row * width, width, target);
    return result;
}

Learning table_learning(const TableData& data, const TableSettings& settings) {
    if (settings.warm_up > 0)
        throw ConfigError(fmt::format(
            "task.warm_up is {} (training by gradient counts every step of a window) leave it out, "
            "or evolve without learning (learning.mode \"off\")",
            settings.warm_up));
    const std::size_t outputs =
        settings.mode == TableMode::classification ? data.classes.size() : settings.targets.size();
    return {.data = {.train = samples(data, settings, Phase::train),
                     .validation = samples(data, settings, Phase::validation),
                     .test = samples(data, settings, Phase::test),
                     .outputs = static_cast<std::int64_t>(outputs)},
            .loss = loss_of(settings.loss)};
}

namespace {

/// Appends the window that starts at a row of a series and counts rows [from, to).
void append(Windows& windows, std::int64_t first_row, std::int64_t series_rows, std::int64_t start,
            std::int64_t length, std::int64_t from, std::int64_t to) {
    for (std::int64_t row = start; row < start + length; ++row) {
        windows.rows.push_back(first_row + std::min(row, series_rows - 1));
        windows.counted.push_back(row >= from && row < to);
    }
    ++windows.count;
}

}  // namespace

Windows cover(std::span<const Series> series, std::int64_t length, std::int64_t warm_up) {
    CAMBRIAN_EXPECT(length > 0 && warm_up >= 0 && warm_up < length);
    Windows windows;
    std::int64_t first_row = 0;
    for (const Series& part : series) {
        for (std::int64_t from = 0; from < part.rows;) {
            const std::int64_t wanted = std::max<std::int64_t>(0, from - warm_up);
            const std::int64_t start =
                std::max<std::int64_t>(0, std::min(wanted, part.rows - length));
            const std::int64_t to = std::min(start + length, part.rows);
            append(windows, first_row, part.rows, start, length, from, to);
            from = to;
        }
        first_row += part.rows;
    }
    return windows;
}

LabelledRows table_labelled_rows(const TableData& data, const TableSettings& settings,
                                 Phase phase) {
    const auto& series = data.series(phase);
    LabelledRows result;
    result.inputs = input_rows(data, phase);
    Tensor targets = goal_rows(data, settings, phase);
    if (settings.mode == TableMode::classification) {
        result.meaning = OutputMeaning::class_scores;
        result.labels = data.classes;
        result.label_names = data.labels;
    } else {
        result.outputs = data.outputs;
        const std::size_t width = data.outputs.size();
        for (std::size_t i = 0; i < targets.elements.size(); ++i)
            targets.elements[i] += data.outputs[i % width].shift;
    }
    Tensor current(ValueType::real, targets.shape);
    current.elements.clear();
    if (settings.difference)
        for (const Series& part : series)
            current.elements.insert(current.elements.end(), part.current.begin(),
                                    part.current.end());
    if (const std::int64_t length = settings.sequence_length; length > 0) {
        const Windows windows = cover(series, length, settings.warm_up);
        result.inputs = rows_at(result.inputs, windows.rows, {windows.count, length});
        targets = rows_at(targets, windows.rows, {windows.count, length});
        if (settings.difference) current = rows_at(current, windows.rows, {windows.count, length});
        result.counted.assign(windows.counted.begin(), windows.counted.end());
    }
    result.targets = std::move(targets.elements);
    result.current = std::move(current.elements);
    return result;
}

std::vector<std::int64_t> draw_windows(std::span<const Series> series, std::int64_t length,
                                       std::int64_t count, RandomStream& rng) {
    std::int64_t choices = 0;
    for (const Series& part : series) choices += part.rows - length + 1;
    CAMBRIAN_ASSERT(choices > 0 && choices <= INT32_MAX);

    std::vector<std::int64_t> rows;
    rows.reserve(static_cast<std::size_t>(count * length));
    for (std::int64_t window = 0; window < count; ++window) {
        std::int64_t choice = rng.index(static_cast<std::uint32_t>(choices));
        std::int64_t first_row = 0;
        for (const Series& part : series) {
            const std::int64_t here = part.rows - length + 1;
            if (choice < here) break;
            choice -= here;
            first_row += part.rows;
        }
        for (std::int64_t step = 0; step < length; ++step)
            rows.push_back(first_row + choice + step);
    }
    return rows;
}

}  // namespace cambrian::evolve
