#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cambrian/engine/io/csv/csv.hpp"

namespace cambrian::launch {

/// What a column of a CSV file holds.
struct ColumnProfile {
    std::string name;
    std::int64_t missing = 0;  ///< Cells without a value.
    std::int64_t texts = 0;    ///< Cells that are no numbers.
    std::string text;          ///< The first of them.
    bool whole = true;         ///< All numbers are whole.
    bool counts = true;        ///< Each number is one more than that of the row before.
    /// The different cells and in how many rows they stand, until there are more than
    /// max_different.
    std::map<std::string, std::int64_t> different;

    static constexpr std::size_t max_different = 1000;
    [[nodiscard]] bool numeric() const { return texts == 0; }
    [[nodiscard]] bool constant() const { return different.size() < 2; }
};

/// What a CSV file holds.
struct TableProfile {
    std::string path;
    char separator = ',';
    std::int64_t rows = 0;
    std::vector<ColumnProfile> columns;

    /// Throws InputError that names the nearest column.
    [[nodiscard]] const ColumnProfile& column(const std::string& name) const;
};

/// Throws InputError as CsvFile does, for a ragged row, and where there are no rows.
[[nodiscard]] TableProfile profile_of(const CsvFile& file);

}  // namespace cambrian::launch
