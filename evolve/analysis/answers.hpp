#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

// What metrics, votes and pairs work on: numbers on the host, wherever they are from.
namespace cambrian::evolve {

/// What should be answered.
struct Truth {
    bool classes = false;              ///< Else numbers.
    std::size_t width = 0;             ///< Classes, or numbers of a row.
    std::vector<double> targets;       ///< Class indices [rows], or numbers [rows, width].
    std::vector<double> labels;        ///< [width] of classes.
    std::vector<std::string> names{};  ///< [width]: the labels as texts; empty: as the numbers.

    [[nodiscard]] std::size_t rows() const {
        return classes ? targets.size() : width == 0 ? 0 : targets.size() / width;
    }
    [[nodiscard]] std::size_t class_of(std::size_t row) const {
        return static_cast<std::size_t>(targets[row]);
    }
};

/// What one network, or several together, answer to these rows.
struct Answers {
    std::vector<double> values;         ///< [rows, width]: probabilities of classes, or numbers.
    std::vector<std::uint32_t> chosen;  ///< [rows] of classes: the one that is answered.
};

/// 0 of no values.
[[nodiscard]] double mean_value(std::span<const double> values);

/// The first largest of the values.
[[nodiscard]] std::size_t first_largest(const double* values, std::size_t count);

/// By row whether the answer is right: the class, or numbers none of which deviates by more than 10
/// percent (deviation_percent).
[[nodiscard]] std::vector<std::uint8_t> right_answers(const Truth& truth, const Answers& answers);

}  // namespace cambrian::evolve
