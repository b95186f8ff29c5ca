#include "cambrian/launch/convert/onnx_preparation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/launch/convert/text_network.hpp"

namespace cambrian::launch {
namespace {

using onnx::Builder;
using onnx::ElementType;

constexpr std::size_t longest_documentation = 10000;

/// [batch, width]
onnx::Value table(std::string name, ElementType type, std::int64_t width,
                  const std::vector<std::string>& columns) {
    std::string documentation;
    for (const std::string& column : columns)
        if (!column.empty()) documentation += (documentation.empty() ? "" : ", ") + column;
    return {.name = std::move(name),
            .type = type,
            .axes = {std::string(onnx::batch_axis), width},
            .documentation = shortened(documentation, longest_documentation)};
}

std::string cast(Builder& builder, const std::string& value, ElementType type) {
    return builder.add("Cast", {value}, {{"to", static_cast<std::int64_t>(type)}});
}

/// One number for each column: `value` changed by an operation, or as it is where that does
/// nothing.
template <class Items, class Number>
std::string changed(Builder& builder, const std::string& value, std::string_view operation,
                    const Items& items, double nothing, const Number& number) {
    std::vector<double> numbers;
    for (const auto& item : items) numbers.push_back(number(item));
    if (std::ranges::count(numbers, nothing) == std::ssize(numbers)) return value;
    const std::string operand =
        builder.constant("preparation", ElementType::real64, {std::ssize(numbers)}, numbers);
    return builder.add(operation, {value, operand});
}

std::string filled(Builder& builder, const std::string& given, const std::string& prepared,
                   const std::vector<evolve::PreparedInput>& inputs) {
    const auto has_fill = [](const evolve::PreparedInput& input) { return input.fill.has_value(); };
    if (std::ranges::none_of(inputs, has_fill)) return prepared;
    std::vector<double> fills;
    for (const evolve::PreparedInput& input : inputs)
        fills.push_back(input.fill.value_or(std::numeric_limits<double>::quiet_NaN()));
    const std::string fill =
        builder.constant("fill", ElementType::real32, {std::ssize(fills)}, fills);
    return builder.add("Where", {builder.add("IsNaN", {given}), fill, prepared});
}

/// What is added to outputs that are changes: columns of the same row, which are among those that
/// the network reads, or in an input of their own; 0 for other outputs.
std::string current_values(Builder& builder, const OnnxRows& rows,
                           const evolve::Preparation& preparation) {
    std::vector<std::string> columns;
    for (const evolve::PreparedInput& input : preparation.inputs) columns.push_back(input.column);
    std::vector<std::int64_t> places;
    std::vector<double> adds;
    for (const evolve::PreparedOutput& output : preparation.outputs) {
        adds.push_back(output.current.empty() ? 0.0 : 1.0);
        const auto found = std::ranges::find(columns, output.current);
        places.push_back(output.current.empty() ? 0 : found - columns.begin());
        if (!output.current.empty() && found == columns.end()) columns.push_back(output.current);
    }
    std::string all = rows.given;
    if (const auto read = std::ssize(preparation.inputs); std::ssize(columns) > read) {
        const std::vector<std::string> others(columns.begin() + read, columns.end());
        const std::string current =
            builder.input(table("current", ElementType::real64, std::ssize(others), others));
        all = builder.add("Concat", {all, current}, {{"axis", std::int64_t{1}}});
    }
    const std::string values =
        builder.add("Gather", {all, builder.integers(places)}, {{"axis", std::int64_t{1}}});
    if (std::ranges::count(adds, 0.0) == 0) return values;
    const std::string mask =
        builder.constant("is_change", ElementType::boolean, {std::ssize(adds)}, adds);
    return builder.add("Where", {mask, values, builder.scalar(0.0, ElementType::real64)});
}

/// The place of each code point among the characters that a network knows; -1, which embeddings
/// refuse (and other layers do not), where it is none of them.
std::string character_places(Builder& builder, const std::string& given,
                             const std::vector<double>& characters) {
    const auto count = std::ssize(characters);
    std::vector<double> order(characters.size());
    std::iota(order.begin(), order.end(), 0.0);
    const std::string known = builder.add(
        "Equal", {given, builder.constant("characters", ElementType::real64, {count}, characters)});
    const std::string each = builder.add(
        "Where", {known, builder.constant("places", ElementType::real32, {count}, order),
                  builder.scalar(-1.0)});
    return builder.add("ReduceMax", {each},
                       {{"axes", std::vector<std::int64_t>{1}}, {"keepdims", std::int64_t{1}}});
}

void add_numbers(Builder& builder, const OnnxRows& rows, const std::string& outputs,
                 const evolve::Preparation& preparation) {
    using evolve::PreparedOutput;
    std::string value = cast(builder, outputs, ElementType::real64);
    if (preparation.logits) value = builder.add("Sigmoid", {value});
    value = changed(builder, value, "Mul", preparation.outputs, 1.0,
                    [](const PreparedOutput& output) { return output.scaling.scale; });
    value = changed(builder, value, "Add", preparation.outputs, 0.0,
                    [](const PreparedOutput& output) { return output.scaling.shift; });
    const auto adds = [](const PreparedOutput& output) { return !output.current.empty(); };
    if (std::ranges::any_of(preparation.outputs, adds))
        value = builder.add("Add", {value, current_values(builder, rows, preparation)});
    std::vector<std::string> names;
    for (std::size_t i = 0; i < preparation.outputs.size(); ++i)
        names.push_back(preparation.answer_name(i));
    builder.output(value, table("answers", ElementType::real64, std::ssize(names), names));
}

/// The labels as a constant: texts, whole numbers, or numbers.
struct Labels {
    std::string name;
    ElementType type;
};
Labels labels_of(Builder& builder, const evolve::Preparation& preparation) {
    const auto count = std::ssize(preparation.classes);
    if (!preparation.labels.empty()) {
        std::vector<std::string> texts;
        for (const std::string& label : preparation.labels) {
            if (!is_utf8(label))
                throw ConfigError(fmt::format(
                    "the label \"{}\" is no text of a model (ONNX wants UTF-8) name it otherwise "
                    "in the data, or add --raw",
                    shortened(label)));
            texts.push_back(label);
        }
        return {builder.constant({.name = "labels",
                                  .type = ElementType::text,
                                  .extents = {count},
                                  .texts = std::move(texts)}),
                ElementType::text};
    }
    const auto is_whole = [](double value) {
        return value == std::trunc(value) && std::abs(value) < 1e15;
    };
    const ElementType type = std::ranges::all_of(preparation.classes, is_whole)
                                 ? ElementType::int64
                                 : ElementType::real64;
    return {builder.constant("labels", type, {count}, preparation.classes), type};
}

void add_classes(Builder& builder, const std::string& outputs, std::int64_t count,
                 const evolve::Preparation& preparation) {
    const std::string scores = cast(builder, outputs, ElementType::real64);
    std::string chosen;
    std::string probabilities;
    if (count < std::ssize(preparation.classes)) {
        const std::string above =
            builder.add("Greater", {scores, builder.scalar(0.0, ElementType::real64)});
        chosen = builder.add("Squeeze",
                             {cast(builder, above, ElementType::int64), builder.integers({1})});
        const std::string first = builder.add("Sigmoid", {builder.add("Neg", {scores})});
        probabilities = builder.add("Concat", {first, builder.add("Sigmoid", {scores})},
                                    {{"axis", std::int64_t{1}}});
    } else {
        chosen = builder.add("ArgMax", {outputs},
                             {{"axis", std::int64_t{1}}, {"keepdims", std::int64_t{0}}});
        probabilities = builder.add("Softmax", {scores}, {{"axis", std::int64_t{1}}});
    }
    const Labels labels = labels_of(builder, preparation);
    builder.output(builder.add("Gather", {labels.name, chosen}, {{"axis", std::int64_t{0}}}),
                   {.name = "class", .type = labels.type, .axes = {std::string(onnx::batch_axis)}});
    builder.output(probabilities,
                   table("probabilities", ElementType::real64, std::ssize(preparation.classes),
                         preparation.class_names()));
}

}  // namespace

OnnxRows add_rows(Builder& builder, std::int64_t inputs, const evolve::Preparation* preparation) {
    if (preparation == nullptr) {
        const std::string rows = builder.input(table("rows", ElementType::real32, inputs, {}));
        return {rows, rows};
    }
    using evolve::PreparedInput;
    std::vector<std::string> columns;
    for (const PreparedInput& input : preparation->inputs) columns.push_back(input.column);
    const std::string given = builder.input(table("rows", ElementType::real64, inputs, columns));
    if (reads_characters(*preparation))
        return {given, character_places(builder, given, preparation->classes)};
    std::string value = given;
    value = changed(builder, value, "Sub", preparation->inputs, 0.0,
                    [](const PreparedInput& input) { return input.scaling.shift; });
    value = changed(builder, value, "Div", preparation->inputs, 1.0,
                    [](const PreparedInput& input) { return input.scaling.scale; });
    value = changed(builder, value, "Mul", preparation->inputs, 1.0,
                    [](const PreparedInput& input) { return input.factor; });
    value = cast(builder, value, ElementType::real32);
    return {given, filled(builder, given, value, preparation->inputs)};
}

void add_answers(Builder& builder, const OnnxRows& rows, const std::string& outputs,
                 std::int64_t count, const evolve::Preparation* preparation) {
    if (preparation == nullptr)
        builder.output(outputs, table("outputs", ElementType::real32, count, {}));
    else if (preparation->classes.empty())
        add_numbers(builder, rows, outputs, *preparation);
    else
        add_classes(builder, outputs, count, *preparation);
}

}  // namespace cambrian::launch
