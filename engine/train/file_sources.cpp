#include "cambrian/engine/train/file_sources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/io/csv.hpp"
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

/// Class indices of numbers; how many classes there are.
std::int64_t as_classes(Tensor& targets, const SourceContext& context, const std::string& place) {
    const std::optional<double> ignored(context.ignored);
    constexpr double most = 1e6;
    double largest = 0.0;
    for (const double value : targets.elements) {
        if (value == ignored) continue;
        if (value != std::floor(value) || value < 0.0 || value > most)
            throw InputError(fmt::format(
                "{} holds {} (classes are whole numbers from 0 on) number the classes, or use a "
                "loss of numbers",
                place, value));
        largest = std::max(largest, value);
    }
    targets.type = ValueType::integer;
    return static_cast<std::int64_t>(largest) + 1;
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

/// Columns of the files below each other, each file cut to whole sequences.
std::vector<double> columns_of(const CsvSource& source, const SourceContext& context,
                               const std::vector<std::string>& columns) {
    std::vector<double> values;
    for (const std::string& file : source.files) {
        const NumberTable table = read_csv(path_of(context, file), columns, MissingValues::error);
        const std::int64_t whole =
            source.steps == 0 ? table.rows : table.rows / source.steps * source.steps;
        if (whole == 0)
            throw InputError(fmt::format("{} has {} rows (a sequence takes {}) use a longer file",
                                         table.path, table.rows, source.steps));
        const auto count = static_cast<std::size_t>(whole) * columns.size();
        values.insert(values.end(), table.values.begin(),
                      table.values.begin() + static_cast<std::ptrdiff_t>(count));
    }
    return values;
}

/// [rows, width], or [rows / steps, steps, width].
Tensor table_of(const CsvSource& source, const SourceContext& context,
                const std::vector<std::string>& columns) {
    std::vector<double> values = columns_of(source, context, columns);
    const auto width = static_cast<std::int64_t>(columns.size());
    const std::int64_t rows = static_cast<std::int64_t>(values.size()) / width;
    const Shape shape =
        source.steps == 0 ? Shape{rows, width} : Shape{rows / source.steps, source.steps, width};
    return {ValueType::real, shape, std::move(values)};
}

}  // namespace

SourceRows rows_of(const CsvSource& source, const SourceContext& context) {
    std::vector<std::string> inputs = source.inputs;
    if (inputs.empty()) {
        inputs = read_csv_header(path_of(context, source.files.front()));
        const std::unordered_set<std::string> targets(source.targets.begin(), source.targets.end());
        std::erase_if(inputs, [&](const std::string& column) { return targets.contains(column); });
    }
    SourceRows result{table_of(source, context, inputs), table_of(source, context, source.targets),
                      0};
    scale_by(result.inputs, source.scale);
    if (!source.classes) return result;
    result.classes = as_classes(result.targets, context,
                                fmt::format("column {} of {}", source.targets.front(),
                                            path_of(context, source.files.front())));
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
    result.inputs.type = ValueType::real;
    result.inputs.shape = flattened(result.inputs.shape, 1);
    scale_by(result.inputs, source.scale);
    result.classes = as_classes(result.targets, context, path_of(context, source.targets));
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
    result.inputs.type = ValueType::real;
    result.inputs.shape = flattened(result.inputs.shape, kept);
    scale_by(result.inputs, source.scale);
    if (result.targets.type == ValueType::integer)
        result.classes = as_classes(result.targets, context, place);
    else if (result.targets.shape.rank() == 1)
        result.targets.shape = Shape{result.targets.shape[0], 1};
    return result;
}

}  // namespace cambrian
