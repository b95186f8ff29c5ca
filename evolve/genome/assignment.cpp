#include "cambrian/evolve/genome/assignment.hpp"

#include <limits>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian::evolve {

namespace {

constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
constexpr double far = std::numeric_limits<double>::infinity();

/// Prices of rows and columns under which every assigned pair costs nothing and no pair less.
class Prices {
  public:
    Prices(std::span<const double> gains, std::size_t count)
        : gains_(gains), count_(count), rows_(count, 0.0), columns_(count, 0.0) {}

    /// Gives a row a column and others along the shortest path theirs anew.
    void assign(std::size_t row, std::vector<std::size_t>& row_of) {
        std::vector<double> distance(count_, far);
        std::vector<std::size_t> before(count_, none);  // column on the path
        std::vector<bool> done(count_, false);
        std::size_t column = none;
        std::size_t from = row;
        double reached = 0.0;
        do {
            const std::size_t last = column;
            for (std::size_t next = 0; next < count_; ++next) {
                const double step = reached + cost(from, next);
                if (!done[next] && step < distance[next]) {
                    distance[next] = step;
                    before[next] = last;
                }
            }
            column = nearest(distance, done);
            reached = distance[column];
            done[column] = true;
            from = row_of[column];
        } while (from != none);
        raise(row, row_of, distance, done, reached);
        for (; before[column] != none; column = before[column]) {
            row_of[column] = row_of[before[column]];
        }
        row_of[column] = row;
    }

  private:
    [[nodiscard]] double cost(std::size_t row, std::size_t column) const {
        return -gains_[row * count_ + column] - rows_[row] - columns_[column];
    }

    [[nodiscard]] std::size_t nearest(const std::vector<double>& distance,
                                      const std::vector<bool>& done) const {
        std::size_t best = none;
        for (std::size_t column = 0; column < count_; ++column) {
            if (!done[column] && (best == none || distance[column] < distance[best])) {
                best = column;
            }
        }
        return best;
    }

    void raise(std::size_t row, const std::vector<std::size_t>& row_of,
               const std::vector<double>& distance, const std::vector<bool>& done, double reached) {
        rows_[row] += reached;
        for (std::size_t column = 0; column < count_; ++column) {
            if (!done[column]) {
                continue;
            }
            columns_[column] -= reached - distance[column];
            if (row_of[column] != none) {
                rows_[row_of[column]] += reached - distance[column];
            }
        }
    }

    std::span<const double> gains_;
    std::size_t count_;
    std::vector<double> rows_;
    std::vector<double> columns_;
};

}  // namespace

std::vector<std::int32_t> best_assignment(std::span<const double> gains, std::size_t count) {
    CAMBRIAN_EXPECT(gains.size() == count * count);
    Prices prices(gains, count);
    std::vector<std::size_t> row_of(count, none);
    for (std::size_t row = 0; row < count; ++row) {
        prices.assign(row, row_of);
    }
    std::vector<std::int32_t> columns(count);
    for (std::size_t column = 0; column < count; ++column) {
        columns[row_of[column]] = static_cast<std::int32_t>(column);
    }
    return columns;
}

}  // namespace cambrian::evolve
