#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/io/input_file.hpp"

namespace cambrian::distributed {

/// Reads generations.csv or another log of a run directory a row at a time: the memory that it
/// takes does not grow with the run.
class LogReader {
  public:
    /// The log as long as it is now. Throws InputError for a missing file, and where two columns
    /// have one name.
    explicit LogReader(const std::filesystem::path& path);

    [[nodiscard]] const std::vector<std::string>& columns() const { return columns_; }
    /// The place of a column in a row, if there is such a column.
    [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const;
    /// The same. Throws InputError where there is none.
    [[nodiscard]] std::size_t at(std::string_view name) const;

    /// The numbers of the next row, until the next call; nothing after the last one. NaN where a
    /// cell is empty; numbers may be infinite: the fitness of nobody. A last line without an end is
    /// still being written, and left out. Throws InputError naming file and line where a line has
    /// other cells than the header, or one that is no number.
    [[nodiscard]] std::optional<std::span<const double>> next();
    /// The generation of the row that was read last, of a log with a row for each, asked for once.
    /// Throws InputError where there is no such column, or generations do not rise.
    [[nodiscard]] double generation();

  private:
    [[nodiscard]] std::optional<std::string_view> line();

    std::filesystem::path path_;
    InputFile file_;
    std::string buffer_;        ///< What was read of the file and holds no line that was returned,
    std::size_t begin_ = 0;     ///< from here on.
    std::uint64_t offset_ = 0;  ///< Of the file, where the buffer ends.
    std::size_t lines_ = 0;
    std::vector<std::string> columns_;
    std::vector<double> row_;
    double generation_ = -std::numeric_limits<double>::infinity();
};

/// A number of a log that counts or names something. Throws InputError where it is none.
[[nodiscard]] std::int64_t whole_number(double value, const std::filesystem::path& path);

/// The cells of a line of a log, without its end: logs quote nothing.
[[nodiscard]] std::vector<std::string_view> cells_of(std::string_view line);

}  // namespace cambrian::distributed
