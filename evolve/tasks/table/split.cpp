#include <algorithm>
#include <cmath>

#include "cambrian/engine/core/random.hpp"
#include "cambrian/evolve/tasks/table/table.hpp"

namespace cambrian::evolve {
namespace {

struct PlacedRow {
    std::size_t table = 0;
    std::size_t row = 0;
};

/// Rows by class, in the order of the files.
std::vector<std::vector<PlacedRow>> strata_of(std::span<const NumberTable> tables, bool labels) {
    std::vector<std::vector<PlacedRow>> strata(1);
    for (std::size_t table = 0; table < tables.size(); ++table)
        for (std::int64_t row = 0; row < tables[table].rows; ++row) {
            const double label =
                labels ? tables[table].at(row, tables[table].columns.size() - 1) : 0.0;
            const auto stratum = static_cast<std::size_t>(label);
            if (stratum >= strata.size()) strata.resize(stratum + 1);
            strata[stratum].push_back({table, static_cast<std::size_t>(row)});
        }
    return strata;
}

}  // namespace

std::vector<std::vector<bool>> drawn_rows(std::span<const NumberTable> tables, bool labels,
                                          double fraction, std::uint64_t seed) {
    std::vector<std::vector<bool>> drawn;
    for (const NumberTable& table : tables)
        drawn.emplace_back(static_cast<std::size_t>(table.rows), false);
    std::vector<std::vector<PlacedRow>> strata = strata_of(tables, labels);
    for (std::size_t stratum = 0; stratum < strata.size(); ++stratum) {
        std::vector<PlacedRow>& rows = strata[stratum];
        const auto wanted =
            static_cast<std::size_t>(std::floor(fraction * static_cast<double>(rows.size()) + 0.5));
        const std::size_t count =
            std::min(wanted, rows.size() - std::min<std::size_t>(rows.size(), 1));
        RandomStream stream(random_key(seed, "table/split"), stratum);
        for (std::size_t i = 0; i < count; ++i) {
            const auto left = static_cast<std::uint32_t>(rows.size() - i);
            std::swap(rows[i], rows[i + stream.index(left)]);
            drawn[rows[i].table][rows[i].row] = true;
        }
    }
    return drawn;
}

}  // namespace cambrian::evolve
