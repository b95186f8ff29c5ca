#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/engine/io/csv/fill.hpp"
#include "cambrian/evolve/tasks/table/table.hpp"

// What is taken from the rows that train: classes, what stands for missing values, scales.
namespace cambrian::evolve {
namespace {

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
    /// 0 where only rounding changes the column.
    [[nodiscard]] double deviation() const {
        return range() > 0.0 ? std::sqrt(squares_ / count_) : 0.0;
    }
    [[nodiscard]] Scaling scaling(Normalise normalise) const {
        switch (normalise) {
            case Normalise::none:
                return {};
            case Normalise::min_max:
                return {.shift = min_, .scale = positive(range())};
            case Normalise::mean_deviation:
                return {.shift = mean_, .scale = positive(deviation())};
        }
        return {};
    }
    /// A column that never changes is only shifted.
    static double positive(double scale) { return scale > 0.0 ? scale : 1.0; }

  private:
    [[nodiscard]] double range() const {
        const double size = std::max(std::abs(min_), std::abs(max_));
        return is_rounding(max_ - min_, size) ? 0.0 : max_ - min_;
    }

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

/// Of what is predicted, of each target.
std::vector<Summary> target_summaries(const TableData& data, const TableSettings& settings) {
    const std::size_t count = settings.targets.size();
    std::vector<Summary> summaries(count);
    for (const Series& series : data.train)
        for (std::size_t i = 0; i < series.answers.size(); ++i)
            summaries[i % count].add(series.answers[i] -
                                     (settings.difference ? series.current[i] : 0.0));
    return summaries;
}

std::vector<Scaling> output_scaling(const TableData& data, const TableSettings& settings) {
    std::vector<Scaling> result;
    for (const Summary& summary : target_summaries(data, settings))
        result.push_back(
            settings.difference
                ? Scaling{.shift = 0.0, .scale = Summary::positive(summary.deviation())}
                : summary.scaling(settings.normalise));
    return result;
}

/// Of the values of one input that there are in the rows that train; nothing of none.
std::optional<double> fill_of(const TableData& data, std::size_t input, MissingValues missing) {
    std::vector<double> values;
    for (const Series& series : data.train)
        for (std::size_t i = input; i < series.inputs.size(); i += data.input_names.size())
            if (!std::isnan(series.inputs[i])) values.push_back(series.inputs[i]);
    return fill_value(std::move(values), missing);
}

}  // namespace

void number_classes(TableData& data, const ClassLabels& labels, std::string_view target) {
    std::vector<std::size_t> places(labels.size(), labels.size());
    for (const Series& series : data.train)
        for (const double answer : series.answers) places[static_cast<std::size_t>(answer)] = 0;
    std::size_t count = 0;
    for (std::size_t label = 0; label < labels.size(); ++label) {
        if (places[label] == labels.size()) continue;
        places[label] = count++;
        data.classes.push_back(labels.texts.empty() ? labels.numbers[label]
                                                    : static_cast<double>(places[label]));
        if (!labels.texts.empty()) data.labels.push_back(labels.texts[label]);
    }
    if (count < 2)
        throw InputError(fmt::format(
            "{}: column {} has one class only, {} (nothing to tell apart) use another target",
            data.train[0].path, target, shortened(class_names(data.classes, data.labels)[0])));
    for (std::vector<Series>* phase : {&data.train, &data.validation, &data.test})
        for (Series& series : *phase)
            for (double& answer : series.answers) {
                const auto label = static_cast<std::size_t>(answer);
                if (places[label] == labels.size())
                    throw InputError(fmt::format(
                        "{}: column {} holds class {} (no train row has it) add train data or "
                        "leave these rows out",
                        series.path, target, shortened(labels.name(label))));
                answer = static_cast<double>(places[label]);
            }
}

void fill_missing(TableData& data, MissingValues missing) {
    if (!fills(missing)) return;
    const std::size_t inputs = data.input_names.size();
    std::int64_t filled = 0;
    std::vector<bool> lacking(inputs, false);
    for (std::size_t input = 0; input < inputs; ++input) {
        const auto fill = fill_of(data, input, missing);
        if (!fill)
            throw InputError(fmt::format(
                "{}: column {} has no value in the rows that train (there is no {} of nothing) "
                "list the other columns as \"inputs\"",
                data.train[0].path, data.input_names[input],
                missing_values_names[static_cast<std::size_t>(missing)]));
        data.fills.push_back(*fill);
    }
    for (std::vector<Series>* phase : {&data.train, &data.validation, &data.test})
        for (Series& series : *phase)
            for (std::size_t i = 0; i < series.inputs.size(); ++i) {
                if (!std::isnan(series.inputs[i])) continue;
                series.inputs[i] = data.fills[i % inputs];
                lacking[i % inputs] = true;
                ++filled;
            }
    const auto columns = std::ranges::count(lacking, true);
    if (filled > 0)
        data.notes.push_back(fmt::format(
            "{} missing values in {} column{}: the {} of the rows that train stands for them",
            filled, columns, columns == 1 ? "" : "s",
            missing_values_names[static_cast<std::size_t>(missing)]));
}

bool is_rounding(double change, double size) {
    return change <= 4.0 * std::numeric_limits<double>::epsilon() * size;
}

std::vector<double> target_deviations(const TableData& data, const TableSettings& settings) {
    std::vector<double> result;
    for (const Summary& summary : target_summaries(data, settings))
        result.push_back(summary.deviation());
    return result;
}

void normalise(TableData& data, const TableSettings& settings) {
    if (settings.mode == TableMode::regression) data.outputs = output_scaling(data, settings);
    data.inputs = input_scaling(data, settings.normalise);
}

}  // namespace cambrian::evolve
