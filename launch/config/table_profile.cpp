#include "cambrian/launch/config/table_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/message_text.hpp"

namespace cambrian::launch {
namespace {

/// Adds a cell to the profile of its column.
/// @param last number of the column, which becomes this one.
void add_cell(ColumnProfile& column, const std::string& cell, char separator, double& last) {
    if (is_missing_value(cell)) {
        ++column.missing;
        column.counts = false;
        return;
    }
    if (column.different.size() <= ColumnProfile::max_different) ++column.different[cell];
    const auto number = csv_number(cell, separator);
    if (!number) {
        if (column.texts++ == 0) column.text = cell;
        column.counts = false;
        return;
    }
    column.whole = column.whole && *number == std::floor(*number);
    column.counts = column.counts && (std::isnan(last) || *number == last + 1.0);
    last = *number;
}

}  // namespace

const ColumnProfile& TableProfile::column(const std::string& name) const {
    const auto found = std::ranges::find(columns, name, &ColumnProfile::name);
    if (found != columns.end()) return *found;
    std::vector<std::string> names;
    for (const ColumnProfile& one : columns) names.push_back(one.name);
    refuse_numbers(names, path);
    throw InputError(fmt::format("{} has no column \"{}\" (it has: {}) {}", path, shortened(name),
                                 shortened(joined(std::span<const std::string>(names))),
                                 nearest_hint(name, std::span<const std::string>(names))));
}

TableProfile profile_of(const CsvFile& file) {
    TableProfile profile{file.path(), file.separator(), 0, {}};
    const std::vector<std::string>& header = file.header();
    for (const std::string& name : header) profile.columns.emplace_back().name = name;
    std::vector<double> last(header.size(), std::numeric_limits<double>::quiet_NaN());
    CsvRecords records = file.rows();
    while (records.next()) {
        if (records.cells().size() != header.size())
            throw InputError(
                fmt::format("{}:{}: {} cells (the header has {} columns) correct the row",
                            file.path(), records.line(), records.cells().size(), header.size()));
        for (std::size_t i = 0; i < header.size(); ++i)
            add_cell(profile.columns[i], records.cells()[i], file.separator(), last[i]);
        ++profile.rows;
    }
    if (profile.rows == 0)
        throw InputError(
            fmt::format("{} has no rows of data (only a header line) check the file", file.path()));
    return profile;
}

}  // namespace cambrian::launch
