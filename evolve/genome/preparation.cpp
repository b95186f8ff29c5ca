#include "cambrian/evolve/genome/preparation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian::evolve {
namespace {

constexpr std::size_t max_listed = 12;

bool scales(double shift, double scale) {
    return std::isfinite(shift) && std::isfinite(scale) && scale != 0.0;
}

std::string inputs_fault(const std::vector<PreparedInput>& inputs) {
    std::set<std::string_view> columns;
    for (const PreparedInput& input : inputs) {
        if (!scales(input.scaling.shift, input.scaling.scale) || !scales(0.0, input.factor))
            return "an input is scaled by no number";
        if (input.column.empty() != inputs[0].column.empty())
            return "some inputs have a column and others have none";
        if (!input.column.empty() && !columns.insert(input.column).second)
            return "two inputs are one column";
    }
    return "";
}

std::string outputs_fault(const Preparation& preparation) {
    for (const PreparedOutput& output : preparation.outputs) {
        if (!scales(output.scaling.shift, output.scaling.scale))
            return "an output is scaled by no number";
        if (!output.current.empty() && !preparation.named())
            return "a change is added to a column and columns have no names";
    }
    return "";
}

std::string classes_fault(const Preparation& preparation) {
    const std::vector<double>& classes = preparation.classes;
    if (classes.empty()) return "";
    const std::size_t outputs = preparation.outputs.size();
    if (classes.size() != outputs && !(classes.size() == 2 && outputs == 1))
        return "it has not as many classes as the network has outputs";
    if (!std::ranges::all_of(classes, [](double value) { return std::isfinite(value); }) ||
        std::ranges::adjacent_find(classes, std::ranges::greater_equal()) != classes.end())
        return "its classes are no ascending numbers";
    return "";
}

}  // namespace

std::string Preparation::output_name(std::size_t output) const {
    const std::string& name = outputs[output].name;
    return name.empty() ? fmt::format("output_{}", output) : name;
}

double Preparation::class_of(std::span<const float> row) const {
    CAMBRIAN_EXPECT(!classes.empty() && row.size() == outputs.size());
    if (row.size() < classes.size()) return classes[row[0] > 0.0F ? 1 : 0];
    return classes[static_cast<std::size_t>(std::ranges::max_element(row) - row.begin())];
}

Preparation plain_preparation(const Blueprint& blueprint) {
    Preparation preparation;
    preparation.inputs.resize(static_cast<std::size_t>(blueprint.input_features));
    preparation.outputs.resize(static_cast<std::size_t>(blueprint.output_features));
    return preparation;
}

std::string preparation_fault(const Preparation& preparation, const Blueprint& blueprint) {
    const auto counts = [](std::size_t size, std::int64_t wanted) {
        return static_cast<std::int64_t>(size) == wanted;
    };
    if (!counts(preparation.inputs.size(), blueprint.input_features) ||
        !counts(preparation.outputs.size(), blueprint.output_features))
        return fmt::format(
            "its preparation has {} inputs and {} outputs, the network has {} and {}",
            preparation.inputs.size(), preparation.outputs.size(), blueprint.input_features,
            blueprint.output_features);
    constexpr std::int64_t max_rows = 1'000'000'000;
    std::string why = inputs_fault(preparation.inputs);
    if (why.empty()) why = outputs_fault(preparation);
    if (why.empty()) why = classes_fault(preparation);
    if (why.empty() && (preparation.sequence_rows < 0 || preparation.sequence_rows > max_rows))
        why = "its sequences have an impossible length";
    return why.empty() ? why : fmt::format("its preparation is wrong: {}", why);
}

std::string classes_text(std::span<const double> classes, std::size_t outputs) {
    bool indices = true;
    for (std::size_t i = 0; i < classes.size(); ++i)
        indices = indices && classes[i] == static_cast<double>(i);
    if (indices) return "";
    const std::string values =
        classes.size() <= max_listed
            ? fmt::format("{}", fmt::join(classes, ", "))
            : fmt::format("{}, .., {}", fmt::join(classes.first(max_listed - 1), ", "),
                          classes.back());
    return outputs < classes.size()
               ? fmt::format("classes {} are targets 0 and 1", values)
               : fmt::format("classes {} are outputs 0 to {}", values, outputs - 1);
}

std::string other_meaning(const Preparation& first, const Preparation& second) {
    CAMBRIAN_EXPECT(first.inputs.size() == second.inputs.size() &&
                    first.outputs.size() == second.outputs.size());
    for (std::size_t i = 0; i < first.inputs.size(); ++i)
        if (first.inputs[i].column != second.inputs[i].column)
            return fmt::format("input {} is column \"{}\" of the one and \"{}\" of the other", i,
                               first.inputs[i].column, second.inputs[i].column);
    for (std::size_t i = 0; i < first.outputs.size(); ++i) {
        if (first.outputs[i].name != second.outputs[i].name)
            return fmt::format("output {} is \"{}\" of the one and \"{}\" of the other", i,
                               first.outputs[i].name, second.outputs[i].name);
        if (first.outputs[i].current != second.outputs[i].current)
            return fmt::format("output {} is a change of one and a value of the other", i);
    }
    if (first.classes != second.classes) return "their classes are others";
    if (first.sequence_rows != second.sequence_rows)
        return fmt::format("sequences have {} rows and {}", first.sequence_rows,
                           second.sequence_rows);
    return "";
}

}  // namespace cambrian::evolve
