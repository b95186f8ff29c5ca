#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "cambrian/engine/io/csv.hpp"
#include "cambrian/evolve/genome/preparation.hpp"

namespace cambrian::launch {

/// Rows of a CSV file for one network.
struct PreparedRows {
    NumberTable table;  ///< The inputs' columns, then those that changes are added to.
    std::vector<std::string> ignored;  ///< Columns of the file that the network has no use for.
    std::vector<float> inputs;         ///< [rows, inputs], as the network sees them.
};

/// Reads them: columns by name in any order, or all columns in theirs where inputs have no names.
/// Throws InputError for missing columns, naming all of them, or another number of columns.
[[nodiscard]] PreparedRows read_rows(const std::string& path,
                                     const evolve::Preparation& preparation);

/// A CSV table of answers in the units of the data, then the label of the class where there are
/// classes.
/// @param outputs of the network, [rows, outputs].
void write_answers(std::ostream& out, std::span<const float> outputs, const PreparedRows& rows,
                   const evolve::Preparation& preparation);

/// "a, b, c", at most as many names as a message should have, without control bytes.
[[nodiscard]] std::string listed(std::span<const std::string> names);

}  // namespace cambrian::launch
