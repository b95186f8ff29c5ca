#include "cambrian/evolve/genome/preparation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/message_text.hpp"

namespace cambrian::evolve {
namespace {

constexpr std::size_t max_listed = 12;
constexpr std::size_t max_label_bytes = 40;

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

std::string labels_fault(const Preparation& preparation) {
    const std::vector<std::string>& labels = preparation.labels;
    if (labels.empty()) return "";
    if (labels.size() != preparation.classes.size()) return "it has not a label for each class";
    for (std::size_t i = 0; i < labels.size(); ++i)
        if (preparation.classes[i] != static_cast<double>(i))
            return "its classes are no indices of their labels";
    const std::set<std::string_view> different(labels.begin(), labels.end());
    if (different.size() != labels.size()) return "two classes have one label";
    return "";
}

std::string fills_fault(const Preparation& preparation) {
    for (const PreparedInput& input : preparation.inputs)
        if (input.fill.has_value() != fills(preparation.missing_values) ||
            !std::isfinite(input.fill.value_or(0.0)))
            return "an input has no value for missing cells, or one without need";
    return "";
}

}  // namespace

std::string Preparation::output_name(std::size_t output) const {
    const std::string& name = outputs[output].name;
    return name.empty() ? fmt::format("output_{}", output) : name;
}

std::vector<std::string> Preparation::class_names() const {
    return evolve::class_names(classes, labels);
}

std::string Preparation::answer_name(std::size_t output) const {
    const std::int64_t rows = ahead.value_or(0);
    return rows == 0 ? output_name(output) : fmt::format("{}(t+{})", output_name(output), rows);
}

double logistic(double x) {
    return 1.0 / (1.0 + std::exp(-x));
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
    if (why.empty()) why = labels_fault(preparation);
    if (why.empty() && preparation.logits && !preparation.classes.empty())
        why = "its outputs are shares and classes";
    if (why.empty()) why = fills_fault(preparation);
    if (why.empty() && (preparation.sequence_rows < 0 || preparation.sequence_rows > max_rows))
        why = "its sequences have an impossible length";
    if (why.empty() && preparation.shown && preparation.sequence_rows < 2)
        why = "its rows are shown for no steps";
    const std::int64_t ahead = preparation.ahead.value_or(0);
    if (why.empty() && (ahead < 0 || ahead > max_rows))
        why = "its forecasts are of an impossible row";
    if (why.empty())
        if (const std::size_t bytes = encode(preparation).size(); bytes > longest_preparation)
            why = fmt::format("it takes {} bytes, mostly of names ({} are the most)", bytes,
                              longest_preparation);
    return why.empty() ? why : fmt::format("its preparation is wrong: {}", why);
}

std::vector<std::string> class_names(std::span<const double> classes,
                                     std::span<const std::string> labels) {
    if (!labels.empty()) return {labels.begin(), labels.end()};
    std::vector<std::string> names;
    for (const double value : classes) names.push_back(fmt::format("{}", value));
    return names;
}

std::string classes_text(std::span<const std::string> names, std::size_t outputs) {
    bool indices = true;
    std::vector<std::string> shown;
    for (std::size_t i = 0; i < names.size(); ++i) {
        indices = indices && names[i] == fmt::format("{}", i);
        shown.push_back(shortened(names[i], max_label_bytes));
    }
    if (indices) return "";
    const auto first = std::span(shown).first(std::min(shown.size(), max_listed - 1));
    const std::string values =
        shown.size() <= max_listed
            ? fmt::format("{}", fmt::join(shown, ", "))
            : fmt::format("{}, .., {}", fmt::join(first, ", "), shown.back());
    return outputs < names.size()
               ? fmt::format("classes {} are targets 0 and 1", values)
               : fmt::format("classes {} are outputs 0 to {}", values, outputs - 1);
}

std::string other_labels(const Preparation& first, const Preparation& second) {
    if (first.classes != second.classes || first.labels != second.labels)
        return "their classes are others";
    if (first.tokenizer && second.tokenizer && *first.tokenizer != *second.tokenizer)
        return "their tokenizers are others";
    return {};
}

std::string other_meaning(const Preparation& first, const Preparation& second) {
    CAMBRIAN_EXPECT(first.inputs.size() == second.inputs.size() &&
                    first.outputs.size() == second.outputs.size());
    for (std::size_t i = 0; i < first.inputs.size(); ++i)
        if (first.inputs[i].column != second.inputs[i].column)
            return fmt::format("input {} is column \"{}\" of the one and \"{}\" of the other", i,
                               shortened(first.inputs[i].column),
                               shortened(second.inputs[i].column));
    for (std::size_t i = 0; i < first.outputs.size(); ++i) {
        if (first.outputs[i].name != second.outputs[i].name)
            return fmt::format("output {} is \"{}\" of the one and \"{}\" of the other", i,
                               shortened(first.outputs[i].name), shortened(second.outputs[i].name));
        if (first.outputs[i].current != second.outputs[i].current)
            return fmt::format("output {} is a change of one and a value of the other", i);
    }
    if (const std::string why = other_labels(first, second); !why.empty()) return why;
    if (first.logits != second.logits)
        return "outputs are logits of shares of one and numbers of the other";
    if (first.shown != second.shown)
        return "the one sees each row for some steps and the other takes rows for steps";
    if (first.sequence_rows != second.sequence_rows)
        return fmt::format("sequences have {} {} and {}", first.sequence_rows,
                           first.shown ? "steps of one row" : "rows", second.sequence_rows);
    if (first.ahead && second.ahead && *first.ahead != *second.ahead)
        return fmt::format("the one answers for t+{} and the other for t+{}", *first.ahead,
                           *second.ahead);
    return "";
}

}  // namespace cambrian::evolve
