#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cambrian::evolve {

/// How many rows a part of the data has of each class.
struct ClassRows {
    std::string_view part;  ///< "validation"
    std::vector<std::int64_t> rows;
};

/// A line for each part that holds one class alone, or lacks some: its loss says nothing of the
/// others. A part without rows is none.
/// @param labels of the classes, as the data write them.
[[nodiscard]] std::vector<std::string> coverage_notes(std::span<const ClassRows> parts,
                                                      std::span<const std::string> labels);

}  // namespace cambrian::evolve
