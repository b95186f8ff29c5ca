#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cambrian {

/// The different labels of a column, ascending: numbers where all of them are numbers, else texts
/// in the order of their bytes. Digits that a number does not keep are texts: 007, or more than 15.
struct ClassLabels {
    std::vector<double> numbers;     ///< Of classes; indices where the labels are texts.
    std::vector<std::string> texts;  ///< Empty: the numbers are the labels.

    [[nodiscard]] std::size_t size() const { return numbers.size(); }
    /// As a text.
    [[nodiscard]] std::string name(std::size_t index) const;
    /// The index of a cell; nothing for another label.
    [[nodiscard]] std::optional<std::size_t> find(const std::string& cell) const;
};

/// @param ignored a number that is no label.
[[nodiscard]] ClassLabels class_labels(std::span<const std::string> cells,
                                       std::optional<double> ignored = std::nullopt);

}  // namespace cambrian
