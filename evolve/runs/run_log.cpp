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
        for (std::size_t at = begin; at <= end; ++cell) {
            const std::size_t stop = std::min(text.find(',', at), end);
            const std::string_view content(text.data() + at, stop - at);
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

}  // namespace cambrian::distributed
