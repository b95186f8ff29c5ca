#include "cambrian/engine/train/source_kinds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/io/csv/class_labels.hpp"
#include "cambrian/engine/io/csv/csv.hpp"
#include "cambrian/engine/io/idx.hpp"
#include "cambrian/engine/io/safetensors.hpp"

namespace cambrian {
namespace {

std::string path_of(const SourceContext& context, const std::string& file) {
    return (context.base_directory / file).lexically_normal().string();
}

void scale_by(Tensor& tensor, double factor) {
    if (factor == 1.0) return;
    for (double& value : tensor.elements) value *= factor;
}

constexpr std::int64_t max_classes = 1'000'000;
constexpr std::string_view other_column = "use another target column";

/// Throws InputError for a target that is no class.
/// @param place_of where the target of a row is, for the message.
template <class PlaceOf>
void require_whole(const Tensor& targets, const SourceContext& context, const PlaceOf& place_of,
                   std::string_view remedy) {
    const std::optional<double> ignored(context.ignored);
    for (std::size_t row = 0; row < targets.elements.size(); ++row)
        if (const double value = targets.elements[row];
            value != ignored && value != std::floor(value))
            throw InputError(fmt::format("{} holds {} (classes are whole numbers) {}",
                                         place_of(row), value, remedy));
}

/// The different labels among the targets, ascending; what the loss ignores is none.
std::vector<double> labels_of(const Tensor& targets, const SourceContext& context) {
    const std::optional<double> ignored(context.ignored);
    std::vector<double> labels;
    for (const double value : targets.elements)
        if (value != ignored) labels.push_back(value);
    std::ranges::sort(labels);
    const auto repeated = std::ranges::unique(labels);
    labels.erase(repeated.begin(), repeated.end());
    return labels;
}

/// Labels of a column, whatever whole numbers they are, as class indices in their order.
void number_classes(SourceRows& rows, const SourceContext& context, const std::string& place) {
    const std::vector<double> labels = labels_of(rows.targets, context);
    const auto count = static_cast<std::int64_t>(labels.size());
    check_class_count(labels.size(), place, other_column);
    note_ignored(rows, context, place);
    rows.targets.type = ValueType::integer;
    rows.classes = count;
    if (labels.front() == 0.0 && labels.back() == static_cast<double>(count - 1)) return;
    rows.class_values = labels;
    // An index may be what the loss ignores.
    const std::optional<double> ignored(context.ignored);
    if (ignored) rows.ignored = no_index;
    for (double& value : rows.targets.elements)
        value = value == ignored
                    ? static_cast<double>(no_index)
                    : static_cast<double>(std::ranges::lower_bound(labels, value) - labels.begin());
}

/// A column with labels in the files of a source, below each other.
struct LabelColumn {
    struct File {
        std::string path;
        std::vector<std::int64_t> lines;  ///< Of its rows.
    };
    std::string name;
    std::vector<File> files{};
    std::vector<std::string> cells{};

    void add(const NumberTable& table, std::int64_t rows) {
        files.push_back({table.path, {table.lines.begin(), table.lines.begin() + rows}});
        cells.insert(cells.end(), table.labels.begin(), table.labels.begin() + rows);
    }
    [[nodiscard]] std::string place() const {
        const std::string& first = files.front().path;
        if (files.size() == 1) return fmt::format("column {} of {}", name, first);
        return fmt::format("column {} of {} files from {} on", name, files.size(), first);
    }
    [[nodiscard]] std::string place_of(std::size_t row) const {
        auto file = files.begin();
        for (; row >= file->lines.size(); ++file) row -= file->lines.size();
        return fmt::format("{}:{}: column {}", file->path, file->lines[row], name);
    }
};

/// Cells with labels as class indices: whole numbers in their order, texts in theirs.
void take_labels(SourceRows& rows, const LabelColumn& column, const SourceContext& context) {
    const std::optional<double> ignored(context.ignored);
    const std::vector<std::string>& cells = column.cells;
    const std::string place = column.place();
    const ClassLabels labels = class_labels(cells, ignored);
    std::vector<double>& targets = rows.targets.elements;
    if (labels.texts.empty()) {
        for (std::size_t i = 0; i < cells.size(); ++i) targets[i] = csv_number(cells[i]).value();
        require_whole(
            rows.targets, context, [&](std::size_t row) { return column.place_of(row); },
            "number the classes in the file, or set \"classes\" to false and use a loss of "
            "numbers such as mse");
        number_classes(rows, context, place);
        return;
    }
    check_class_count(labels.size(), place, other_column);
    std::int64_t left_out = 0;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const auto number = csv_number(cells[i]);
        const bool counts = !number || number != ignored;
        // Where the loss ignores an index it shall not be that of a label.
        targets[i] = static_cast<double>(
            counts ? static_cast<std::int64_t>(labels.find(cells[i]).value()) : no_index);
        left_out += counts ? 0 : 1;
    }
    note_ignored(rows, left_out, context, place);
    if (ignored) rows.ignored = no_index;
    rows.targets.type = ValueType::integer;
    rows.classes = static_cast<std::int64_t>(labels.size());
    rows.class_names = labels.texts;
}

/// Labels of a file that numbers its classes itself, from 0 on: one without a row stays a class.
void take_classes(SourceRows& rows, const SourceContext& context, const std::string& place) {
    constexpr std::string_view remedy = "number the classes in the file from 0 on";
    require_whole(
        rows.targets, context, [&](std::size_t) { return place; }, remedy);
    const std::vector<double> labels = labels_of(rows.targets, context);
    for (const double value : labels)
        if (value < 0.0 || value > static_cast<double>(max_classes))
            throw InputError(fmt::format("{} holds {} (classes are whole numbers from 0 to {}) {}",
                                         place, value, max_classes, remedy));
    note_ignored(rows, context, place);
    rows.targets.type = ValueType::integer;
    rows.classes = labels.empty() ? 1 : static_cast<std::int64_t>(labels.back()) + 1;
    // A loss of numbers learns a single label, too.
    if (context.ignored && rows.classes < 2)
        check_class_count(labels.size(), place, "use targets of two labels at least");
    const auto present = static_cast<std::int64_t>(labels.size());
    if (present < rows.classes)
        rows.notes.push_back(
            fmt::format("{} has labels for {} of {} classes: the outputs of the others have "
                        "nothing to learn from",
                        place, present, rows.classes));
}

/// The same elements with all axes but the first `kept` as one.
Shape flattened(const Shape& shape, int kept) {
    std::vector<std::int64_t> extents(shape.extents().begin(), shape.extents().begin() + kept);
    std::int64_t rest = 1;
    for (int axis = kept; axis < shape.rank(); ++axis) rest *= shape[axis];
    extents.push_back(rest);
    return Shape(extents);
}

void check_rows(const Tensor& inputs, const Tensor& targets, const std::string& place) {
    if (inputs.shape.rank() >= 1 && targets.shape.rank() >= 1 &&
        inputs.shape[0] == targets.shape[0] && inputs.shape[0] > 0)
        return;
    throw InputError(fmt::format(
        "{} holds inputs {} and targets {} (as many rows of each, one at least, are needed) use "
        "files that belong together",
        place, inputs.shape.text(), targets.shape.text()));
}

/// Rows of no features and sequences of no steps are no samples.
void check_not_empty(const Tensor& values, const std::string& what, const std::string& place) {
    if (values.shape.elements() > 0) return;
    throw InputError(
        fmt::format("{} holds {} {} (an axis of 0 leaves nothing to learn from) use another file "
                    "or tensor",
                    place, what, values.shape.text()));
}

/// Inputs and targets of the files below each other, each file cut to whole sequences:
/// [rows, width], or [rows / steps, steps, width]. A dropped row is one of both.
SourceRows rows_of_files(const CsvSource& source, const SourceContext& context,
                         const std::vector<std::string>& inputs) {
    std::vector<std::string> columns = inputs;
    columns.insert(columns.end(), source.targets.begin(), source.targets.end());
    std::int64_t rows = 0;
    std::vector<double> input_values;
    std::vector<double> target_values;
    SourceRows result;
    LabelColumn labels{.name = source.targets.front()};
    for (const std::string& file : source.files) {
        const NumberTable table =
            read_csv(path_of(context, file), columns, source.missing_values,
                     {.targets = source.targets.size(), .config = true, .labels = source.classes});
        for (std::string& note : csv_notes(table)) result.notes.push_back(std::move(note));
        if (source.steps > 0) require_consecutive(table);
        const std::int64_t whole =
            source.steps == 0 ? table.rows : table.rows / source.steps * source.steps;
        if (whole == 0)
            throw InputError(
                fmt::format("{} has {} rows (a sequence takes {}) use a longer file or fewer "
                            "\"steps\"",
                            table.path, table.rows, source.steps));
        auto cell = table.values.begin();
        for (std::int64_t row = 0; row < whole; ++row) {
            const auto middle = cell + static_cast<std::ptrdiff_t>(inputs.size());
            const auto end = cell + static_cast<std::ptrdiff_t>(columns.size());
            input_values.insert(input_values.end(), cell, middle);
            target_values.insert(target_values.end(), middle, end);
            cell = end;
        }
        if (source.classes) labels.add(table, whole);
        rows += whole;
    }
    const auto tensor = [&](std::size_t width, std::vector<double> values) {
        const auto features = static_cast<std::int64_t>(width);
        const Shape shape = source.steps == 0 ? Shape{rows, features}
                                              : Shape{rows / source.steps, source.steps, features};
        return Tensor(ValueType::real, shape, std::move(values));
    };
    result.inputs = tensor(inputs.size(), std::move(input_values));
    result.targets = tensor(source.targets.size(), std::move(target_values));
    result.missing_values = source.missing_values;
    if (source.classes) take_labels(result, labels, context);
    return result;
}

}  // namespace

void check_class_count(std::size_t count, const std::string& place, std::string_view remedy) {
    if (count < 2 || count > static_cast<std::size_t>(max_classes))
        throw InputError(fmt::format("{} holds {} classes (2 to {} can be told apart) {}", place,
                                     count, max_classes, remedy));
}

void note_ignored(SourceRows& rows, std::int64_t count, const SourceContext& context,
                  const std::string& place) {
    if (count > 0)
        rows.notes.push_back(fmt::format("{} of {} targets in {} are {}, which the loss leaves out",
                                         count, rows.targets.elements.size(), place,
                                         *context.ignored));
}

void note_ignored(SourceRows& rows, const SourceContext& context, const std::string& place) {
    const std::optional<double> ignored(context.ignored);
    const auto count = std::ranges::count_if(rows.targets.elements,
                                             [&](double value) { return value == ignored; });
    note_ignored(rows, count, context, place);
}

SourceRows rows_of(const CsvSource& source, const SourceContext& context) {
    std::vector<std::string> inputs = source.inputs;
    if (inputs.empty()) {
        inputs = read_csv_header(path_of(context, source.files.front()));
        const std::unordered_set<std::string> targets(source.targets.begin(), source.targets.end());
        std::erase_if(inputs, [&](const std::string& column) { return targets.contains(column); });
    }
    if (inputs.empty())
        throw InputError(
            fmt::format("{} has no input columns (every column is a target) add a column to the "
                        "file, or predict fewer",
                        path_of(context, source.files.front())));
    SourceRows result = rows_of_files(source, context, inputs);
    scale_by(result.inputs, source.scale);
    result.scale = source.scale;
    result.input_names = inputs;
    result.target_names = source.targets;
    if (!source.classes) return result;
    const Shape& shape = result.targets.shape;
    result.targets.shape = Shape(shape.extents().first(shape.extents().size() - 1));
    return result;
}

SourceRows rows_of(const IdxSource& source, const SourceContext& context) {
    const std::string place = path_of(context, source.inputs);
    SourceRows result{read_idx(place).tensor(), read_idx(path_of(context, source.targets)).tensor(),
                      0};
    check_rows(result.inputs, result.targets, place);
    if (result.targets.shape.rank() != 1)
        throw InputError(
            fmt::format("{} holds {} (one class for each sample is needed) use a file "
                        "of labels",
                        path_of(context, source.targets), result.targets.shape.text()));
    check_not_empty(result.inputs, "inputs", place);
    result.inputs.type = ValueType::real;
    result.inputs.shape = flattened(result.inputs.shape, 1);
    scale_by(result.inputs, source.scale);
    result.scale = source.scale;
    take_classes(result, context, path_of(context, source.targets));
    return result;
}

SourceRows rows_of(const SafetensorsSource& source, const SourceContext& context) {
    const std::string place = path_of(context, source.file);
    const Safetensors content = read_safetensors(place);
    SourceRows result{content.at(source.inputs).tensor(), content.at(source.targets).tensor(), 0};
    check_rows(result.inputs, result.targets, place);
    const int kept = source.sequences ? 2 : 1;
    if (result.inputs.shape.rank() < kept)
        throw InputError(
            fmt::format("{} holds inputs {} (sequences have an axis of time) leave "
                        "\"sequences\" out",
                        place, result.inputs.shape.text()));
    check_not_empty(result.inputs, fmt::format("\"{}\"", source.inputs), place);
    check_not_empty(result.targets, fmt::format("\"{}\"", source.targets), place);
    result.inputs.type = ValueType::real;
    result.inputs.shape = flattened(result.inputs.shape, kept);
    scale_by(result.inputs, source.scale);
    result.scale = source.scale;
    if (result.targets.type == ValueType::integer)
        take_classes(result, context, place);
    else if (result.targets.shape.rank() == 1)
        result.targets.shape = Shape{result.targets.shape[0], 1};
    return result;
}

}  // namespace cambrian
