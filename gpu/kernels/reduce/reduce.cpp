#include "cambrian/gpu/kernels/kernel_table.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/tensor/shape.hpp"
#include "cambrian/gpu/execution/walk.hpp"

namespace cambrian::gpu {
namespace {

constexpr std::uint32_t reduce_group_width = 256;
constexpr std::uint32_t ordered_group_width = 64;
// A row, or a column, that is longer is cut into parts of the second length.
constexpr std::int64_t longest_row = 65536;
constexpr std::int64_t row_part = 16384;
constexpr std::int64_t longest_column = 512;
constexpr std::int64_t column_part = 256;

std::int64_t parts_for(std::int64_t length, std::int64_t part) {
    return (length + part - 1) / part;
}

// Invocations that fold one run together: about four vectors of four words each.
std::uint32_t lanes_for(std::int64_t length) {
    const std::int64_t vectors = (length + 3) / 4;
    const auto lanes = std::bit_ceil(static_cast<std::uint64_t>((vectors + 3) / 4));
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(lanes, 1, reduce_group_width));
}

/// One dispatch: folds the axis, or each part of it, from one buffer to another.
struct Pass {
    enum class Shape : std::uint8_t { rows, columns, ordered_rows };
    Shape shape = Shape::rows;
    BufferView operand;
    BufferView result;
    AxisSplit split{1, 1, 1};
    std::int64_t parts = 1;
    std::int64_t part_length = 1;
    const vulkan::Pipeline* pipeline = nullptr;
    std::uint32_t group_width = 1;

    [[nodiscard]] std::int64_t results() const { return split.outer * parts * split.inner; }
    [[nodiscard]] std::int64_t elements() const { return split.elements(); }
};

class ReduceKernel : public Kernel {
  public:
    explicit ReduceKernel(const KernelContext& context)
        : ReduceKernel(
              context.owner, context.per_individual, context.node.op, context.operand().type,
              {.operand = context.operands[0],
               .result = context.results[0],
               .split =
                   AxisSplit(context.operand().shape, context.attribute<AxisAttribute>().axis)}) {}

    ReduceKernel(CompiledGraph& owner, bool per_individual, const ColumnSums& sums)
        : ReduceKernel(owner, per_individual, Op::reduce_sum, ValueType::real,
                       {.operand = sums.operand,
                        .result = sums.result,
                        .split = AxisSplit(1, sums.length, sums.columns)}) {}

    void record(vulkan::Recorder& recorder, const Frame& frame) const override {
        const std::int64_t count = per_individual_ ? frame.population : 1;
        for (const Pass& pass : passes_) {
            if (pass.results() == 0) continue;
            if (pass.split.length == 0) {
                fill_zeros(recorder, frame, pass, count);
                continue;
            }
            record(recorder, frame, pass, count);
        }
    }

  private:
    ReduceKernel(CompiledGraph& owner, bool per_individual, Op op, ValueType type, Pass pass)
        : per_individual_(per_individual),
          op_(op),
          type_(type),
          max_turns_(max_turns(owner.resources())) {
        choose(pass, owner);
        while (pass.parts > 1) {
            const BufferView partial = owner.reserve(pass.results(), per_individual_);
            Pass next = pass;
            pass.result = partial;
            passes_.push_back(pass);
            next.operand = partial;
            next.split.length = pass.parts;
            choose(next, owner);
            pass = next;
        }
        passes_.push_back(pass);
    }

    // Strict sums of real numbers have one order, first element to last; everything else has the
    // same bits in any order, or, under fast math, an order that the shape alone decides.
    void choose(Pass& pass, CompiledGraph& owner) const {
        const bool ordered = op_ == Op::reduce_sum && type_ == ValueType::real &&
                             owner.resources().math == Math::strict;
        const bool is_row = pass.split.inner == 1 && pass.split.length > 1;
        pass.shape = !is_row   ? Pass::Shape::columns
                     : ordered ? Pass::Shape::ordered_rows
                               : Pass::Shape::rows;
        const std::int64_t longest = is_row ? longest_row : longest_column;
        // The index of the largest element would need two words for each part.
        const bool whole = ordered || op_ == Op::argmax || pass.split.length <= longest;
        pass.part_length = whole ? pass.split.length : is_row ? row_part : column_part;
        pass.parts = whole ? 1 : parts_for(pass.split.length, pass.part_length);
        pass.group_width = pass.shape == Pass::Shape::rows ? reduce_group_width
                           : pass.shape == Pass::Shape::columns
                               ? plain_group_width(owner.resources())
                               : ordered_group_width;
        pass.pipeline = &pipeline(pass, owner.resources());
    }

    [[nodiscard]] const vulkan::Pipeline& pipeline(const Pass& pass, Resources& resources) const {
        if (pass.shape == Pass::Shape::ordered_rows)
            return static_pipeline(resources, "sum_rows_ordered", std::array{pass.group_width});
        const bool rows = pass.shape == Pass::Shape::rows;
        const std::uint32_t kind = op_ == Op::reduce_sum ? 0 : op_ == Op::reduce_max ? 1 : 2;
        const std::uint32_t real = type_ == ValueType::real ? 1 : 0;
        return static_pipeline(resources, rows ? "reduce_rows" : "reduce_columns",
                               std::array{pass.group_width, kind, real});
    }

    static void fill_zeros(vulkan::Recorder& recorder, const Frame& frame, const Pass& pass,
                           std::int64_t count) {
        const auto bytes = static_cast<std::uint64_t>(pass.results()) * word_bytes;
        for (std::int64_t i = 0; i < count; ++i)
            recorder.fill(frame.address(pass.result) +
                              static_cast<std::uint64_t>(i * pass.result.stride) * word_bytes,
                          bytes, 0);
    }

    // Elements that are folded one after the other are cut into dispatches that go on from the
    // result of the last.
    void record(vulkan::Recorder& recorder, const Frame& frame, const Pass& pass,
                std::int64_t count) const {
        const bool serial = pass.shape != Pass::Shape::rows;
        const std::int64_t step = serial ? max_turns_ : pass.part_length;
        for (std::int64_t begin = 0; begin < pass.part_length; begin += step)
            record(recorder, frame, pass, count, {begin, std::min(begin + step, pass.part_length)});
    }

    struct Interval {
        std::int64_t begin = 0;
        std::int64_t end = 0;
    };

    static void record(vulkan::Recorder& recorder, const Frame& frame, const Pass& pass,
                       std::int64_t count, Interval interval) {
        vulkan::Push push;
        push.address[0] = frame.address(pass.result);
        push.address[1] = frame.address(pass.operand);
        const std::array reads{frame.range(pass.operand, pass.elements())};
        const std::array writes{frame.range(pass.result, pass.results())};
        const std::uint64_t groups = pass.shape == Pass::Shape::ordered_rows
                                         ? ordered_words(push, pass, count, interval)
                                         : part_words(push, pass, count, interval);
        recorder.dispatch(*pass.pipeline, push, groups, reads, writes);
    }

    static std::uint64_t part_words(vulkan::Push& push, const Pass& pass, std::int64_t count,
                                    Interval interval) {
        const std::int64_t items = count * pass.results();
        const bool rows = pass.shape == Pass::Shape::rows;
        const std::int64_t second = rows ? lanes_for(pass.part_length) : pass.split.inner;
        const std::array words{items,
                               second,
                               pass.parts,
                               pass.part_length,
                               pass.split.length,
                               pass.split.outer,
                               pass.operand.stride,
                               pass.result.stride,
                               interval.begin,
                               interval.end};
        std::ranges::transform(words, push.word.begin(), word);
        return groups_for(rows ? items * second : items, pass.group_width);
    }

    static std::uint64_t ordered_words(vulkan::Push& push, const Pass& pass, std::int64_t count,
                                       Interval interval) {
        const std::int64_t rows = count * pass.split.outer;
        const auto of_group = static_cast<std::int64_t>(std::min<std::uint64_t>(
            std::bit_ceil(static_cast<std::uint64_t>(rows)), ordered_group_width));
        const std::array words{rows,
                               of_group,
                               pass.split.length,
                               pass.split.outer,
                               pass.operand.stride,
                               pass.result.stride,
                               interval.begin,
                               interval.end};
        std::ranges::transform(words, push.word.begin(), word);
        return groups_for(rows, static_cast<std::uint32_t>(of_group));
    }

    bool per_individual_;
    Op op_;
    ValueType type_;
    std::int64_t max_turns_;
    std::vector<Pass> passes_;
};

}  // namespace

std::unique_ptr<Kernel> make_reduce(const KernelContext& context) {
    return std::make_unique<ReduceKernel>(context);
}

std::unique_ptr<Kernel> make_column_sums(CompiledGraph& owner, bool per_individual,
                                         const ColumnSums& sums) {
    return std::make_unique<ReduceKernel>(owner, per_individual, sums);
}

}  // namespace cambrian::gpu
