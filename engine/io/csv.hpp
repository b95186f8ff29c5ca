#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cambrian {

/// What to do with a missing cell: empty, "nan", "na", "null" or "?" in any case.
enum class MissingValues : std::uint8_t {
    error,     ///< Refuse the file.
    drop,      ///< Leave the row out; the rows around it become neighbours.
    previous,  ///< Repeat the column's value of the row before; the first row must be complete.
};
/// In the order of the enumeration, as configs name them.
inline constexpr std::array<std::string_view, 3> missing_values_names{"error", "drop", "previous"};
[[nodiscard]] constexpr std::span<const std::string_view> choice_names(MissingValues) {
    return missing_values_names;
}

/// What the user of a file can do about a cell that is no number: the errors propose it.
struct CsvRemedies {
    std::size_t targets = 0;  ///< The last columns are answers, which nothing can leave out.
    bool config = true;       ///< Keys "inputs" and "missing_values" of a config say how to read.
};

/// Numbers of some columns of a CSV file, row by row.
struct NumberTable {
    std::string path;
    std::vector<std::string> columns;
    std::int64_t rows = 0;
    std::vector<double> values;       ///< [rows, columns]
    std::vector<std::int64_t> lines;  ///< Line of the file, from 1, where each row begins.

    [[nodiscard]] double at(std::int64_t row, std::size_t column) const {
        return values[static_cast<std::size_t>(row) * columns.size() + column];
    }
};

/// Throws InputError where the names of columns are numbers: the file has no line of names.
void refuse_numbers(std::span<const std::string> header, const std::string& path);

/// Column names: the first line of a file. Throws InputError like read_csv.
[[nodiscard]] std::vector<std::string> read_csv_header(const std::string& path);

/// Throws InputError with a command that converts the file where its header is one name that a
/// semicolon or a tab divides: said where a column was not found, for a name may hold either.
void refuse_other_separator(std::span<const std::string> header, const std::string& path);

/// Reads some columns, found by name, of a file with a header line: comma separated, quotes where
/// wanted, LF or CRLF, a blank last line is nothing. Strict: throws InputError naming file, line,
/// column and what was found for a missing file or column, a ragged row, a cell that is no finite
/// number, an open quote, another separator, or no rows at all.
[[nodiscard]] NumberTable read_csv(const std::string& path, std::span<const std::string> columns,
                                   MissingValues missing, CsvRemedies remedies = {});

}  // namespace cambrian
