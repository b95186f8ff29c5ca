#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cambrian/engine/cpu/execution/kernel.hpp"
#include "cambrian/engine/cpu/execution/lift.hpp"

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

/// Folds a block of rows into one word of each (see rows.hpp).
using BlockFold = void (*)(const Word* x, std::int64_t stride, std::int64_t rows,
                           std::int64_t width, Word* folded, bool starts);

/// Where code finds a value.
struct FusedPlace {
    enum class Kind : std::uint8_t {
        literal,  ///< Word `index` of the literals.
        view,     ///< The elements of view `index`, in memory.
        words,    ///< From word `index` of the scratch on: one word, or one for each row of a tile.
        block,    ///< The same: the rows of the current block, as long as it is wide.
        panel,    ///< The same: the columns of the current block in all rows of a tile.
        rows,     ///< The same: whole rows of a tile.
    };
    Kind kind = Kind::words;
    std::int64_t index = 0;
    Level level = Level::one;
};

/// One loop over a value of a fusion group: a lifted function, a fold, or without either the
/// activation whose code is its second operand.
struct FusedLoop {
    Loop row = nullptr;
    BlockFold fold = nullptr;
    Nest::Strides strides{};
    std::array<std::uint16_t, Nest::max_views> places{};  ///< The result, then the operands.
    std::uint8_t views = 0;
    ActivationSet set = ActivationSet::common;  ///< Of the codes of an activation.
    bool whole = false;  ///< The rows of a block are one run of words for every place.
};

/// A view that has one word for each row, loaded before a tile.
struct FusedLoad {
    std::size_t view = 0;
    std::uint16_t place = 0;
};

/// The body of a fusion group as loops. A tile is a number of rows. Each phase computes words of
/// rows, then full values by blocks: for some columns at a time, a few rows after another, and last
/// the folds of these columns of all rows, which the next phase needs.
struct FusedCode {
    struct Phase {
        std::vector<FusedLoop> words;
        std::vector<FusedLoop> blocks;
        std::vector<FusedLoop> folds;
    };
    std::vector<FusedLoop> once{};  ///< Values that are one word altogether.
    std::vector<FusedLoad> loads{};
    std::vector<Phase> phases{};
    int stored = -1;  ///< The place of a result that has one word for each row, or -1.
    std::vector<FusedPlace> places{};
    std::vector<std::uint32_t> literals{};
    std::int64_t tile_rows = 1;
    std::int64_t block_rows = 1;
    std::int64_t block_width = 1;   ///< Columns.
    std::int64_t panel_stride = 1;  ///< Words between the rows of a panel.
    std::int64_t words = 0;         ///< Of scratch.
    bool reduces = false;
};

/// The shape all views of a fusion group are broadcast to, and whether its rows are reduced.
struct FusedExtent {
    Shape shape;
    bool reduces = false;
};
[[nodiscard]] FusedExtent fused_extent(const Graph& body);

[[nodiscard]] FusedCode fused_code(const Graph& body, const FusedAxes& axes, bool reduces);

/// In which pass over the rows each value of a fusion group's body is computed: a fold ends a pass,
/// and what depends on it comes in a later one. One entry for each value.
struct FusedPasses {
    FusedPasses(const Graph& body, const FusedAxes& axes);

    /// Whether a node is a loop of a lifted function: no input, constant, view or fold.
    [[nodiscard]] static bool is_loop(const Node& node);
    /// The nodes that compute full values in a pass, and the folds at its end, in order.
    [[nodiscard]] std::vector<const Node*> nodes_of(const Graph& body, int pass) const;

    std::vector<std::size_t> root;  ///< The value itself, or the one it is a view of.
    std::vector<std::size_t> view;  ///< Of an input: which view of the axes it is.
    std::vector<Level> level;       ///< Of roots.
    std::vector<int> ready;         ///< The first pass that it can be computed in.
    std::vector<int> pass;          ///< A full value: the first pass that needs it. A fold: its.
    std::vector<bool> kept;         ///< A full value that is stored for later passes.
    std::vector<bool> folded;       ///< A value that is folded.
    int passes = 1;

  private:
    void find_levels(const Graph& body, const FusedAxes& axes);
    void need(const Graph& body, ValueId id, int now);
    [[nodiscard]] bool is_cheap(const Graph& body, const Node& node) const;

    std::vector<std::vector<std::size_t>> again_;  ///< Values that a pass computes once more.
};

}  // namespace cambrian::cpu
