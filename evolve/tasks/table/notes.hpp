#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cambrian/evolve/tasks/table/data.hpp"

namespace cambrian::evolve {

/// What the user of a table should know of its data before a run, a line each: classes that are no
/// indices or are missing in a part, columns that are not scaled, targets of different scale, no
/// baselines.
[[nodiscard]] std::vector<std::string> table_notes(const TableData& data,
                                                   const TableSettings& settings);

/// What the fitness is measured in, where the network's outputs are scaled.
[[nodiscard]] std::optional<LossUnits> table_loss_units(const TableData& data,
                                                        const TableSettings& settings);

}  // namespace cambrian::evolve
