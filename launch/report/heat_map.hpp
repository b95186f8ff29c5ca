#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "cambrian/launch/report/data/logged_column.hpp"

namespace cambrian::launch {

/// The numbers of rows over generations as colours, as HTML: neighbouring generations, and
/// neighbouring rows, that share a cell of the picture are averaged. Empty where all is in one
/// generation.
/// @param rows by the number that names them, such as ranks.
[[nodiscard]] std::string heat_map_html(const std::string& title, const std::string& row_name,
                                        const std::map<std::int64_t, MeanColumn>& rows);

}  // namespace cambrian::launch
