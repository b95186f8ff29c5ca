#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace cambrian::evolve {

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
