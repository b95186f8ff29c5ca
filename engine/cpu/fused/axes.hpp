#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cambrian/engine/cpu/execution/kernel.hpp"

namespace cambrian::cpu {

/// Along what a value of a fusion group varies: nothing, rows only, the elements of rows.
enum class Level : std::uint8_t { one, row, full };

/// The elements a fusion group computes as rows of equally many, seen from its views: view 0 is the
/// result, then the operands. Neighbouring axes are one wherever every view allows it.
class FusedAxes {
  public:
    struct Axis {
        std::int64_t extent = 1;
        std::vector<std::int64_t> strides;  ///< Words, one for each view.
    };

    /// Over `shape`, which every view is broadcast to; its last axis stays a row of its own where
    /// rows are reduced. A row never holds elements of two individuals.
    FusedAxes(const KernelContext& context, const Shape& shape, bool reduces);

    [[nodiscard]] std::int64_t row_length() const { return inner_.extent; }
    [[nodiscard]] std::int64_t rows(std::int64_t individuals) const;
    [[nodiscard]] std::size_t views() const { return inner_.strides.size(); }
    [[nodiscard]] Level level(std::size_t view) const;
    [[nodiscard]] std::int64_t column_stride(std::size_t view) const {
        return inner_.strides[view];
    }
    /// Whether the rows of all views lie evenly in memory, `row_stride` words apart.
    [[nodiscard]] bool even() const { return outer_.size() == 1; }
    [[nodiscard]] std::int64_t row_stride(std::size_t view) const {
        return outer_[0].strides[view];
    }

    /// Writes the words from the first row of a view to each of `count` rows from row `first` on.
    void offsets(std::size_t view, std::int64_t first, std::int64_t count,
                 std::int64_t* result) const;

  private:
    std::vector<Axis> outer_;  ///< The first has its extent times the number of individuals.
    Axis inner_;
};

}  // namespace cambrian::cpu
