#pragma once

#include <string>

#include "cambrian/launch/report/data/ancestry.hpp"

namespace cambrian::launch {

/// The ancestors of a birth as HTML: a picture with the time from left to right, the line of first
/// parents at the top with its fitness above it, second parents below it, and a table of that line.
/// Of many ancestors those that changed most are drawn; a text says how many are left out. Empty
/// where the log does not know the birth.
[[nodiscard]] std::string lineage_html(const Ancestry& ancestry, evolve::BirthId birth);

}  // namespace cambrian::launch
