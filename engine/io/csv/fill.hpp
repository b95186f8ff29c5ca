#pragma once

#include <optional>
#include <vector>

#include "cambrian/engine/io/csv/csv.hpp"

namespace cambrian {

/// What stands for a missing value of a column: the mean of its values, summed in their order, or
/// their median (of an even number the mean of the middle two); nothing where there are none.
/// @param missing mean or median
[[nodiscard]] std::optional<double> fill_value(std::vector<double> values, MissingValues missing);

}  // namespace cambrian
