#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/io/csv/records.hpp"

namespace cambrian {

/// What to do with a missing cell: empty, "nan", "na", "n/a", "null" or "?" in any case.
enum class MissingValues : std::uint8_t {
    error,     ///< Refuse the file.
    drop,      ///< Leave the row out; NumberTable::place counts it: a gap is no step of time.
    previous,  ///< Repeat the column's value of the row before; the first row must be complete.
    mean,      ///< An input stands for the mean of its column in the rows that train, whose
               ///< computation is the reader's user's; a row without a target is left out.
    median,    ///< The same with the median.
};
/// In the order of the enumeration, as configs name them.
inline constexpr std::array<std::string_view, 5> missing_values_names{"error", "drop", "previous",
                                                                      "mean", "median"};
[[nodiscard]] constexpr std::span<const std::string_view> choice_names(MissingValues) {
    return missing_values_names;
}
/// Whether constants of the rows that train stand for missing inputs.
[[nodiscard]] constexpr bool fills(MissingValues missing) {
    return missing == MissingValues::mean || missing == MissingValues::median;
}

/// What the columns of a file are to its reader.
struct CsvUse {
    std::size_t targets = 0;  ///< The last columns are answers, which nothing can fill.
    bool config = true;       ///< Keys "inputs" and "missing_values" of a config say how to read.
    bool labels = false;      ///< The last column holds labels of classes, which may be texts.
};

/// Numbers of some columns of a CSV file, row by row.
struct NumberTable {
    std::string path;
    std::vector<std::string> columns;
    std::int64_t rows = 0;
    std::vector<double> values;  ///< [rows, columns]; NaN where the user is to fill, 0 of labels.
    std::vector<std::int64_t> lines;       ///< Line of the file, from 1, where each row begins.
    std::vector<std::string> labels{};     ///< [rows], of CsvUse::labels.
    std::vector<std::int64_t> left_out{};  ///< Lines of rows that lack a value, ascending.
    std::int64_t missing = 0;              ///< Cells that the user is to fill, or were.
    char separator = ',';
    bool decimal_comma = false;

    [[nodiscard]] double at(std::int64_t row, std::size_t column) const {
        return values[static_cast<std::size_t>(row) * columns.size() + column];
    }
    /// The number of a row in the file, from 0, those that are left out counted.
    [[nodiscard]] std::int64_t place(std::int64_t row) const;
};

/// Throws InputError where rows are left out between others, which are to follow each other.
void require_consecutive(const NumberTable& table);

/// What should be said of how a file was read, a line each: another separator than a comma, decimal
/// commas, rows that are left out.
[[nodiscard]] std::vector<std::string> csv_notes(const NumberTable& table);

/// A finite number, also in f32, with a decimal point; nothing for any other text.
[[nodiscard]] std::optional<double> csv_number(std::string_view cell);
/// The same in a file with that separator: where it is no comma, a number may have a decimal one.
[[nodiscard]] std::optional<double> csv_number(std::string_view cell, char separator);
/// Whether a cell has no value, see MissingValues.
[[nodiscard]] bool is_missing_value(std::string_view cell);

/// A CSV file in memory, with the separator that it was found to have.
class CsvFile {
  public:
    /// Throws InputError for one that cannot be read or is no text: with NUL bytes, of another
    /// encoding of Unicode, packed; and for a header that is none: empty, nameless, with a name
    /// twice.
    explicit CsvFile(const std::string& path);
    /// The same of a stream that messages call `name`.
    CsvFile(std::istream& stream, const std::string& name);

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] char separator() const { return separator_; }
    /// Names of the columns.
    [[nodiscard]] const std::vector<std::string>& header() const { return header_; }
    /// Those after the header; the file must outlive them.
    [[nodiscard]] CsvRecords rows() const;
    /// Some columns, found by name. Strict: throws InputError naming file, line, column and what
    /// was found for a missing column, a ragged row, a cell that is no finite number, numbers whose
    /// commas may be decimal or not, or no rows at all.
    [[nodiscard]] NumberTable numbers(std::span<const std::string> columns, MissingValues missing,
                                      CsvUse use = {}) const;

  private:
    CsvFile(std::string name, std::string text);

    std::string path_;
    std::string text_;
    char separator_ = ',';
    std::vector<std::string> header_;
};

/// Throws InputError where the names of columns are numbers: the file has no line of names.
void refuse_numbers(std::span<const std::string> header, const std::string& path);

/// Column names of a file. Throws InputError like CsvFile.
[[nodiscard]] std::vector<std::string> read_csv_header(const std::string& path);

/// CsvFile::numbers of a file.
[[nodiscard]] NumberTable read_csv(const std::string& path, std::span<const std::string> columns,
                                   MissingValues missing, CsvUse use = {});

}  // namespace cambrian
