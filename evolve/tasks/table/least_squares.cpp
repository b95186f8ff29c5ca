#include "cambrian/evolve/tasks/table/least_squares.hpp"

#include <algorithm>
#include <cmath>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian::evolve {

LeastSquares::LeastSquares(std::size_t inputs, std::size_t answers)
    : inputs_(inputs), width_(inputs + answers), factor_(inputs * width_, 0.0) {}

void LeastSquares::add(std::span<const double> inputs, std::span<const double> answers) {
    CAMBRIAN_EXPECT(inputs.size() == inputs_ && inputs.size() + answers.size() == width_);
    std::vector<double> entries(inputs.begin(), inputs.end());
    entries.insert(entries.end(), answers.begin(), answers.end());
    rotate_in(entries, 0);
}

void LeastSquares::rotate_in(std::vector<double>& entries, std::size_t first_column) {
    for (std::size_t column = first_column; column < inputs_; ++column) {
        if (entries[column] == 0.0) continue;
        double* factor = row(column);
        const double length =
            std::sqrt(factor[column] * factor[column] + entries[column] * entries[column]);
        const double cosine = factor[column] / length;
        const double sine = entries[column] / length;
        for (std::size_t i = column; i < width_; ++i) {
            const double rotated = cosine * factor[i] + sine * entries[i];
            entries[i] = cosine * entries[i] - sine * factor[i];
            factor[i] = rotated;
        }
        entries[column] = 0.0;
    }
}

void LeastSquares::drop_dependent_columns() {
    constexpr double tolerance = 1e-9;
    for (std::size_t column = 0; column < inputs_; ++column) {
        double squares = 0.0;
        for (std::size_t i = 0; i <= column; ++i) squares += row(i)[column] * row(i)[column];
        if (std::abs(row(column)[column]) > tolerance * std::sqrt(squares)) continue;
        // Without this column its row is one more equation for the columns after it.
        std::vector<double> entries(row(column), row(column) + width_);
        std::fill_n(row(column), width_, 0.0);
        rotate_in(entries, column + 1);
    }
}

std::vector<double> LeastSquares::solve() const {
    LeastSquares reduced = *this;
    reduced.drop_dependent_columns();
    const std::size_t answers = width_ - inputs_;
    std::vector<double> result(inputs_ * answers, 0.0);
    for (std::size_t column = inputs_; column-- > 0;) {
        const double* factor = reduced.row(column);
        if (factor[column] == 0.0) continue;
        for (std::size_t answer = 0; answer < answers; ++answer) {
            double sum = factor[inputs_ + answer];
            for (std::size_t i = column + 1; i < inputs_; ++i)
                sum -= factor[i] * result[i * answers + answer];
            result[column * answers + answer] = sum / factor[column];
        }
    }
    return result;
}

}  // namespace cambrian::evolve
