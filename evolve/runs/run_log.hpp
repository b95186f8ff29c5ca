#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cambrian::distributed {

/// The columns of a log of a run, of equal length; NaN where a cell is empty. Numbers may be
/// infinite: the fitness of nobody.
using RunLog = std::map<std::string, std::vector<double>, std::less<>>;

/// Reads generations.csv and the other logs of a run directory. A last line without an end is still
/// being written, and left out. Throws InputError naming file and line where two columns have one
/// name, or a line has other cells than the header, or one that is no number, and for a missing
/// file.
[[nodiscard]] RunLog read_run_log(const std::filesystem::path& path);

/// Throws InputError where a log, read from `path`, has no such column.
[[nodiscard]] const std::vector<double>& column_of(const RunLog& log, std::string_view name,
                                                   const std::filesystem::path& path);
/// The column "generation" of a log with a line for each, which rises. Throws InputError where it
/// is missing or does not.
[[nodiscard]] const std::vector<double>& generations_of(const RunLog& log,
                                                        const std::filesystem::path& path);
/// A number of a log that counts or names something. Throws InputError where it is none.
[[nodiscard]] std::int64_t whole_number(double value, const std::filesystem::path& path);

/// The cells of a line of a log, without its end: logs quote nothing.
[[nodiscard]] std::vector<std::string_view> cells_of(std::string_view line);

}  // namespace cambrian::distributed
