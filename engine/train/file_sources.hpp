#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cambrian/engine/train/source.hpp"

// Samples from files. Inputs are multiplied by `scale`. Whole numbers in one target column are
// labels where `classes` says so: classes are counted through in their order. Integer targets of
// the other files are class indices, from 0 on.
namespace cambrian {

/// Columns of CSV files with a header line, below each other. With `steps` the rows of a file, in
/// order, make sequences of so many; a rest at its end is left out. Rows that lack a value are
/// dropped before.
struct CsvSource {
    std::vector<std::string> files;
    std::vector<std::string> inputs;  ///< Empty: every column that is no target.
    std::vector<std::string> targets;
    bool classes = false;
    std::int64_t steps = 0;
    double scale = 1.0;
    std::string missing_values = "error";  ///< One of missing_values_names.
};
/// A file of samples and one of their class indices, as MNIST comes; a sample becomes one row.
struct IdxSource {
    std::string inputs;
    std::string targets;
    double scale = 1.0 / 255.0;
};
/// Two tensors of a file: inputs [rows, ..], of which all but the first axis become one row (or,
/// with `sequences`, all but the first two), and targets: integers as class indices, else numbers.
struct SafetensorsSource {
    std::string file;
    std::string inputs = "inputs";
    std::string targets = "targets";
    bool sequences = false;
    double scale = 1.0;
};

[[nodiscard]] SourceRows rows_of(const CsvSource& source, const SourceContext& context);
[[nodiscard]] SourceRows rows_of(const IdxSource& source, const SourceContext& context);
[[nodiscard]] SourceRows rows_of(const SafetensorsSource& source, const SourceContext& context);

}  // namespace cambrian
