#pragma once

#include "cambrian/evolve/genome/preparation.hpp"
#include "cambrian/evolve/tasks/table/data.hpp"

namespace cambrian::evolve {

/// What a table does to its rows: columns by name, the constants of its normalisation, changes that
/// are added to the current value, classes.
[[nodiscard]] Preparation table_preparation(const TableData& data, const TableSettings& settings);

}  // namespace cambrian::evolve
