#pragma once

#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cambrian/engine/io/csv/csv.hpp"
#include "cambrian/evolve/analysis/answers.hpp"
#include "cambrian/evolve/genome/preparation.hpp"
#include "cambrian/launch/config/network_reader.hpp"

// How the network of a file wants its rows, and such rows.
namespace cambrian::launch {

/// How rows of data reach the network of a file: as the file says. A file of a table or a data set
/// that does not say it, of an older version, has its task made again, with the data that it was
/// trained on and `overrides` (--set). All other networks take columns as they are, by position.
/// Throws InputError with a remedy when that task cannot be made, ConfigError for overrides of a
/// file that needs none.
[[nodiscard]] evolve::Preparation preparation_of(const std::string& network_path,
                                                 const distributed::NetworkFile& network,
                                                 std::span<const std::string> overrides,
                                                 const evolve::TaskRegistry& tasks,
                                                 const evolve::GenomeRegistry& genomes);

/// Of the child of two networks with equally many inputs and outputs: that of the fitter one. What
/// is not as both say is added to `note`, a line. Throws ConfigError when the two read other
/// columns or answer something else.
[[nodiscard]] std::optional<evolve::Preparation> child_preparation(const NamedNetwork& fitter,
                                                                   const NamedNetwork& other,
                                                                   std::string& note);

/// Preparation of a network file for people, a few lines: columns with what happens to them,
/// outputs, classes.
[[nodiscard]] std::string preparation_text(const evolve::Preparation& preparation);

/// Rows of a CSV file for one network.
struct PreparedRows {
    NumberTable table;  ///< The inputs' columns, then those that changes are added to.
    std::vector<std::string> ignored;  ///< Columns of the file that the network has no use for.
    std::vector<std::string> notes;    ///< How the file was read, a line each.
    std::vector<float> inputs;         ///< [rows, inputs], as the network sees them.
};

/// Reads them: columns by name in any order, or all columns in theirs where inputs have no names.
/// What is missing is treated as it was when the network learnt. Throws InputError for missing
/// columns, naming all of them, or another number of columns.
[[nodiscard]] PreparedRows read_rows(const CsvFile& file, const evolve::Preparation& preparation);

/// What networks answer to the rows of a file, as CSV.
struct AnswerTable {
    std::vector<std::string> columns;
    std::vector<std::string> rows;  ///< Cells of a row with commas between them.
};

/// What one network or several answer: numbers in the units of the data, or the label of the class,
/// its probability, and p(label) of every class.
[[nodiscard]] AnswerTable answer_table(const evolve::Answers& answers,
                                       const evolve::Preparation& preparation);
/// From outputs [rows, outputs].
[[nodiscard]] evolve::Answers answers_of(std::span<const float> outputs, const PreparedRows& rows,
                                         const evolve::Preparation& preparation);
/// One line for each row of the file, with the row itself before the answers where they are joined.
/// Answers to rows that were left out are empty. A name that the file has, too, gets "_predicted".
void write_answers(std::ostream& out, AnswerTable answers, const CsvFile& file,
                   const PreparedRows& rows, bool join);

/// "a, b, c", at most as many names as a message should have, without control bytes.
[[nodiscard]] std::string listed(std::span<const std::string> names);

}  // namespace cambrian::launch
