#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "cambrian/evolve/tasks/table/data.hpp"

namespace cambrian::evolve {

/// What a simple predictor reaches on the rows of a phase, in the units of the file:
/// - persistence: the loss of answering with the target's value at row t;
/// - mean: the loss of always answering with the mean of the target over the train rows;
/// - least_squares: the loss of the linear function of the inputs, with a constant, that fits the
///   train rows best;
/// - majority: the accuracy (share of rows) of always naming the commonest class of the train rows;
/// - frequencies: the cross entropy of always answering with the class frequencies of the train
///   rows.
[[nodiscard]] double table_baseline(std::string_view name, const TableData& data, Phase phase,
                                    TableLoss loss);

/// Linear least squares in double, row by row: a triangular factor kept up to date by Givens
/// rotations, so memory does not grow with the rows. A column that depends on the ones before it
/// gets the coefficient 0.
class LeastSquares {
  public:
    LeastSquares(std::size_t inputs, std::size_t answers);
    void add(std::span<const double> inputs, std::span<const double> answers);
    /// [inputs, answers]
    [[nodiscard]] std::vector<double> solve() const;

  private:
    [[nodiscard]] double* row(std::size_t index) { return factor_.data() + index * width_; }
    void rotate_in(std::vector<double>& entries, std::size_t first_column);
    void drop_dependent_columns();

    std::size_t inputs_;
    std::size_t width_;           ///< inputs + answers
    std::vector<double> factor_;  ///< [inputs, width]: upper triangular, then the rotated answers.
};

}  // namespace cambrian::evolve
