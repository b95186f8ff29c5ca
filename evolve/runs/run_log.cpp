#include "cambrian/evolve/runs/run_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/engine/core/number_text.hpp"
#include "cambrian/engine/io/container.hpp"

namespace cambrian::distributed {
namespace {

constexpr std::uint64_t longest_log = std::uint64_t{2} << 30U;

}  // namespace

std::vector<std::string_view> cells_of(std::string_view line) {
    line = line.substr(0, line.find('\n'));
    std::vector<std::string_view> cells;
    for (std::size_t begin = 0;;) {
        const std::size_t end = line.find(',', begin);
        cells.push_back(line.substr(begin, end - begin));
        if (end == std::string_view::npos) return cells;
        begin = end + 1;
    }
}

RunLog read_run_log(const std::filesystem::path& path) {
    const std::vector<std::byte> bytes = read_file(path, longest_log);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    RunLog log;
    std::vector<std::vector<double>*> columns;
    std::size_t line = 0;
    for (std::size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string_view::npos;
         begin = end + 1) {
        ++line;
        std::size_t cell = 0;
        const std::string_view row = text.substr(0, end);  // To its end: no further comma counts.
        for (std::size_t at = begin; at <= end; ++cell) {
            const std::size_t stop = std::min(row.find(',', at), end);
            const std::string_view content = row.substr(at, stop - at);
            at = stop + 1;
            if (line == 1) {
                const auto [column, is_new] = log.try_emplace(std::string(content));
                if (!is_new)
                    throw InputError(
                        fmt::format("{}:1: two columns are named {} (columns are found by name) "
                                    "restore the file from a good copy",
                                    path.string(), shortened(content, 40)));
                columns.push_back(&column->second);
                continue;
            }
            const std::optional<double> value =
                content.empty() ? std::nan("") : number_in<double>(content);
            if (cell >= columns.size() || !value)
                throw InputError(
                    fmt::format("{}: line {} holds \"{}\" (no number of a column) "
                                "restore the file from a good copy",
                                path.string(), line, shortened(content, 40)));
            columns[cell]->push_back(*value);
        }
        if (line > 1 && cell != columns.size())
            throw InputError(
                fmt::format("{}: line {} has {} cells (the header has {}) restore the "
                            "file from a good copy",
                            path.string(), line, cell, columns.size()));
    }
    return log;
}

const std::vector<double>& column_of(const RunLog& log, std::string_view name,
                                     const std::filesystem::path& path) {
    const auto found = log.find(name);
    if (found == log.end())
        throw InputError(
            fmt::format("{} has no column {} (it is not the log of an evolution) name the "
                        "directory of a run",
                        path.string(), name));
    return found->second;
}

const std::vector<double>& generations_of(const RunLog& log, const std::filesystem::path& path) {
    const std::vector<double>& generations = column_of(log, "generation", path);
    for (std::size_t row = 0; row < generations.size(); ++row) {
        static_cast<void>(whole_number(generations[row], path));
        if (row > 0 && generations[row] <= generations[row - 1])
            throw InputError(
                fmt::format("{} holds generation {} after {} (generations rise) restore the file "
                            "from a good copy",
                            path.string(), generations[row], generations[row - 1]));
    }
    return generations;
}

std::int64_t whole_number(double value, const std::filesystem::path& path) {
    if (value >= 0.0 && value <= 0x1p53 && value == std::floor(value))
        return static_cast<std::int64_t>(value);
    throw InputError(
        fmt::format("{} holds {} (a whole number is wanted there) restore the file from a good "
                    "copy",
                    path.string(), value));
}

}  // namespace cambrian::distributed
