#include "cambrian/evolve/tasks/table/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "cambrian/evolve/tasks/dataset/class_coverage.hpp"

namespace cambrian::evolve {
namespace {

/// Targets whose deviations differ by more than this are told: one of them is most of the loss.
constexpr double large_ratio = 10.0;

void note_classes(std::vector<std::string>& notes, const TableData& data) {
    const std::vector<std::string> names = class_names(data.classes, data.labels);
    if (std::string text = classes_text(names, names.size()); !text.empty())
        notes.push_back(std::move(text));
    std::vector<ClassRows> parts;
    for (const Phase phase : {Phase::validation, Phase::test}) {
        ClassRows part{name(phase), std::vector<std::int64_t>(data.classes.size(), 0)};
        for (const Series& series : data.series(phase))
            for (const double answer : series.answers)
                ++part.rows[static_cast<std::size_t>(answer)];
        parts.push_back(std::move(part));
    }
    for (std::string& text : coverage_notes(parts, names)) notes.push_back(std::move(text));
}

/// The columns with the smallest and the largest values, and those.
void note_inputs(std::vector<std::string>& notes, const TableData& data) {
    const std::size_t count = data.input_names.size();
    std::vector<double> largest(count, 0.0);
    for (const Series& series : data.train)
        for (std::size_t i = 0; i < series.inputs.size(); ++i)
            largest[i % count] = std::max(largest[i % count], std::abs(series.inputs[i]));
    const auto [least, most] = std::ranges::minmax_element(largest);
    const auto column = [&](auto place) {
        return fmt::format("{:.4g} in {}", *place,
                           data.input_names[static_cast<std::size_t>(place - largest.begin())]);
    };
    notes.push_back(
        count == 1 ? fmt::format("inputs are not scaled (task.normalise is none): values up to {}",
                                 column(most))
                   : fmt::format("inputs are not scaled (task.normalise is none): values up to {}, "
                                 "up to {}",
                                 column(least), column(most)));
}

void note_targets(std::vector<std::string>& notes, const TableData& data,
                  const TableSettings& settings) {
    const std::vector<double> spread = target_deviations(data, settings);
    const auto [least, most] = std::ranges::minmax_element(spread);
    if (*most <= large_ratio * *least) return;
    const auto target = [&](auto place) {
        return settings.targets[static_cast<std::size_t>(place - spread.begin())];
    };
    notes.push_back(
        fmt::format("targets differ in scale (deviation {:.4g} of {}, {:.4g} of {}): in the units "
                    "of the file the loss is nearly that of {} alone",
                    *least, target(least), *most, target(most), target(most)));
}

}  // namespace

std::vector<std::string> table_notes(const TableData& data, const TableSettings& settings) {
    std::vector<std::string> notes = data.notes;
    const bool classifies = settings.mode == TableMode::classification;
    if (classifies) note_classes(notes, data);
    if (settings.normalise == Normalise::none) note_inputs(notes, data);
    if (!classifies) note_targets(notes, data, settings);
    if (settings.baselines.empty())
        notes.emplace_back(
            "no baselines (task.baselines is empty): nothing says what a simple predictor reaches");
    return notes;
}

std::optional<LossUnits> table_loss_units(const TableData& data, const TableSettings& settings) {
    if (settings.mode == TableMode::classification) return std::nullopt;
    const double scale = data.outputs[0].scale;
    const auto has = [](double wanted) {
        return [wanted](const Scaling& scaling) { return scaling.scale == wanted; };
    };
    if (std::ranges::all_of(data.outputs, has(1.0))) return std::nullopt;
    const bool squared = settings.loss == TableLoss::mse;
    LossUnits units{fmt::format("{} in the units of the file", squared ? "mse" : "mae"), {}};
    if (std::ranges::all_of(data.outputs, has(scale)))
        units.factor = squared ? scale * scale : scale;
    return units;
}

}  // namespace cambrian::evolve
