#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cambrian {

/// What to do with a missing cell: empty, "nan", "na", "null" or "?" in any case.
enum class MissingValues : std::uint8_t {
    error,     ///< Refuse the file.
    drop,      ///< Leave the row out; the rows around it become neighbours.
    previous,  ///< Repeat the column's value of the row before; the first row must be complete.
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

/// Column names: the first line of a file. Throws InputError like read_csv.
[[nodiscard]] std::vector<std::string> read_csv_header(const std::string& path);

/// Reads some columns, found by name, of a file with a header line: comma separated, quotes where
/// wanted, LF or CRLF, a blank last line is nothing. Strict: throws InputError naming file, line,
/// column and what was found for a missing file or column, a ragged row, a cell that is no finite
/// number, an open quote, or no rows at all.
[[nodiscard]] NumberTable read_csv(const std::string& path, std::span<const std::string> columns,
                                   MissingValues missing);

}  // namespace cambrian
