#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

// Columns of logs of any length, in as many numbers as a picture shows.
namespace cambrian::launch {

/// Numbers of a column of generations.csv, and the generations they are told of, which rise. NaN
/// where a generation has no such number: no line leads through it.
struct LoggedColumn {
    std::vector<double> generation;
    std::vector<double> value;
};

/// Neighbouring generations in cells: in one each, until they are more than a number of cells, then
/// in twice as wide ones, and so on. A cell has the generation `begin` and takes in the next one by
/// `join`.
template <class Cell, std::size_t max_cells>
class GenerationCells {
  public:
    /// That of a generation, or, of one before those of other calls, the last one.
    Cell& of(double generation) {
        for (;; join_neighbours()) {
            if (!cells_.empty() && place(generation) <= place(cells_.back().begin))
                return cells_.back();
            if (cells_.size() < max_cells) break;
        }
        cells_.push_back(Cell{.begin = generation});
        return cells_.back();
    }
    [[nodiscard]] std::span<const Cell> all() const { return cells_; }

  private:
    [[nodiscard]] double place(double generation) const { return std::floor(generation / width_); }
    void join_neighbours() {
        width_ *= 2.0;
        std::size_t count = 0;
        for (const Cell& cell : cells_)
            if (count > 0 && place(cell.begin) == place(cells_[count - 1].begin))
                cells_[count - 1].join(cell);
            else
                cells_[count++] = cell;
        cells_.resize(count);
    }

    double width_ = 1.0;
    std::vector<Cell> cells_;
};

/// Makes a column of numbers: all of some thousand generations, of more the first, last, lowest and
/// highest of each few that a picture cannot tell apart.
class ColumnThinner {
  public:
    /// @param value not finite: there is none in this generation.
    void add(double generation, double value);
    [[nodiscard]] LoggedColumn column() const;
    /// What statistics are taken of, which extremes would distort: all numbers of some thousand
    /// generations, of more the first of each few, and the last of all.
    [[nodiscard]] LoggedColumn sample() const;

  private:
    struct Point {
        double generation = 0.0;
        double value = 0.0;
    };
    struct Cell {
        double begin = 0.0;
        bool gap = false;  ///< A generation has no number.
        bool any = false;  ///< One has, and there are the points that follow.
        Point first{};
        Point low{};   ///< The last of equal ones,
        Point high{};  ///< and here the first: both sides of a step up are kept.
        Point last{};
        void join(const Cell& next);
    };
    GenerationCells<Cell, 4096> cells_;
};

/// Means of a number over neighbouring generations.
class MeanColumn {
  public:
    struct Cell {
        double begin = 0.0;
        double sum = 0.0;
        std::size_t count = 0;
        void join(const Cell& next) {
            sum += next.sum;
            count += next.count;
        }
    };
    void add(double generation, double value);
    [[nodiscard]] std::span<const Cell> cells() const { return cells_.all(); }
    /// The last generation of which there is a number.
    [[nodiscard]] double last() const { return last_; }

  private:
    GenerationCells<Cell, 1024> cells_;
    double last_ = 0.0;
};

}  // namespace cambrian::launch
