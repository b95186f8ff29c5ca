#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "cambrian/engine/tensor/shape.hpp"
#include "cambrian/gpu/execution/walk.hpp"
#include "cambrian/gpu/kernels/kernel_table.hpp"

namespace cambrian::gpu {
namespace {

// Flags of cumsum.glsl.
constexpr std::uint32_t exclusive = 1;
constexpr std::uint32_t reversed = 2;
constexpr std::uint32_t totals_only = 4;
constexpr std::uint32_t has_offsets = 8;

constexpr std::uint32_t cumsum_group_width = 256;
constexpr std::uint32_t ordered_group_width = 64;
constexpr std::int64_t elements_of_a_lane = 4;
// A column that is longer is cut into parts of the second length.
constexpr std::int64_t longest_column = 512;
constexpr std::int64_t column_part = 256;
// Of the loops of a row that is summed in order: it is fetched, added up and stored.
constexpr std::int64_t turns_for_an_element = 4;

std::int64_t parts_for(std::int64_t length, std::int64_t part) {
    return (length + part - 1) / part;
}

std::int64_t lanes_for(std::int64_t length) {
    const auto lanes =
        std::bit_ceil(static_cast<std::uint64_t>(parts_for(length, elements_of_a_lane)));
    return static_cast<std::int64_t>(std::min<std::uint64_t>(lanes, cumsum_group_width));
}

/// One dispatch over an axis, or over each part of it.
struct Pass {
    enum class Kind : std::uint8_t { rows, columns, ordered_rows };
    Kind kind = Kind::rows;
    BufferView operand{};
    BufferView result{};
    BufferView offsets{};
    AxisSplit split;
    std::int64_t parts = 1;
    std::int64_t part_length = 1;
    std::uint32_t flags = 0;

    [[nodiscard]] std::int64_t sums() const { return split.lines() * parts; }
    [[nodiscard]] std::int64_t results() const {
        return (flags & totals_only) != 0 ? sums() : split.elements();
    }
};

class CumsumKernel : public Kernel {
  public:
    explicit CumsumKernel(const KernelContext& context)
        : per_individual_(context.per_individual),
          real_(context.operand().type == ValueType::real),
          ordered_(real_ && context.owner.resources().math == Math::strict),
          plain_width_(plain_group_width(context.owner.resources())),
          max_turns_(max_turns(context.owner.resources())) {
        const auto& cumsum = context.attribute<CumsumAttribute>();
        add({.operand = context.operands[0],
             .result = context.results[0],
             .split = {context.operand().shape, cumsum.axis},
             .flags = (cumsum.exclusive ? exclusive : 0) | (cumsum.reverse ? reversed : 0)},
            context.owner);
        for (const Pass& pass : passes_) pipelines_.push_back(&pipeline(pass, context.owner));
    }

    void record(vulkan::Recorder& recorder, const Frame& frame) const override {
        for (std::size_t i = 0; i < passes_.size(); ++i) {
            const Pass& pass = passes_[i];
            const std::int64_t step = pass.kind == Pass::Kind::rows ? pass.part_length
                                      : pass.kind == Pass::Kind::columns
                                          ? max_turns_
                                          : max_turns_ / turns_for_an_element;
            for (std::int64_t begin = 0; begin < pass.part_length; begin += step)
                record(recorder, frame, i, begin, std::min(begin + step, pass.part_length));
        }
    }

  private:
    // Strict sums of real numbers have one order. Everything else is cut into parts by the shape:
    // their sums are added up, exclusive, and each part goes on from there.
    void add(Pass pass, CompiledGraph& owner) {
        const bool is_row = pass.split.inner == 1;
        const std::int64_t length = pass.split.length;
        pass.kind = !is_row    ? Pass::Kind::columns
                    : ordered_ ? Pass::Kind::ordered_rows
                               : Pass::Kind::rows;
        pass.part_length = length;
        if (!ordered_ && is_row) pass.part_length = elements_of_a_lane * lanes_for(length);
        if (!ordered_ && !is_row && length > longest_column) pass.part_length = column_part;
        pass.parts = parts_for(length, pass.part_length);
        if (pass.parts > 1) {
            const BufferView totals = owner.reserve(pass.sums(), per_individual_);
            pass.offsets = owner.reserve(pass.sums(), per_individual_);
            Pass sums = pass;
            sums.result = totals;
            sums.flags |= totals_only;
            passes_.push_back(sums);
            add({.operand = totals,
                 .result = pass.offsets,
                 .split = {pass.split.outer, pass.parts, pass.split.inner},
                 .flags = exclusive},
                owner);
            pass.flags |= has_offsets;
        }
        passes_.push_back(pass);
    }

    [[nodiscard]] std::uint32_t width(const Pass& pass) const {
        return pass.kind == Pass::Kind::rows      ? cumsum_group_width
               : pass.kind == Pass::Kind::columns ? plain_width_
                                                  : ordered_group_width;
    }

    [[nodiscard]] const vulkan::Pipeline& pipeline(const Pass& pass, CompiledGraph& owner) const {
        constexpr std::array<std::string_view, 3> shaders{"cumsum_rows", "cumsum_columns",
                                                          "cumsum_rows_ordered"};
        return static_pipeline(owner.resources(), shaders[static_cast<std::size_t>(pass.kind)],
                               std::array{width(pass), real_ ? 1U : 0U});
    }

    void record(vulkan::Recorder& recorder, const Frame& frame, std::size_t index,
                std::int64_t begin, std::int64_t end) const {
        const Pass& pass = passes_[index];
        const std::int64_t count = per_individual_ ? frame.population : 1;
        vulkan::Push push;
        push.address = {frame.address(pass.result), frame.address(pass.operand),
                        frame.address(pass.offsets)};
        const std::uint64_t groups = pass.kind == Pass::Kind::rows ? row_words(push, pass, count)
                                     : pass.kind == Pass::Kind::columns
                                         ? column_words(push, pass, count, begin, end)
                                         : ordered_words(push, pass, count, begin, end);
        const std::array reads{
            frame.range(pass.operand, pass.split.elements()),
            frame.range(pass.offsets, (pass.flags & has_offsets) != 0 ? pass.sums() : 0)};
        const std::array writes{frame.range(pass.result, pass.results())};
        recorder.dispatch(*pipelines_[index], push, groups, reads, writes);
    }

    template <std::size_t size>
    static void set(vulkan::Push& push, const std::array<std::int64_t, size>& words) {
        std::ranges::transform(words, push.word.begin(),
                               [](std::int64_t word) { return static_cast<std::uint32_t>(word); });
    }

    [[nodiscard]] std::uint64_t row_words(vulkan::Push& push, const Pass& pass,
                                          std::int64_t count) const {
        const std::int64_t segments = count * pass.sums();
        const std::int64_t lanes = lanes_for(pass.split.length);
        set(push, std::array<std::int64_t, 9>{
                      segments, lanes, pass.parts, pass.split.length, pass.split.outer,
                      pass.result.stride, pass.operand.stride, pass.offsets.stride, pass.flags});
        return groups_for(segments * lanes, cumsum_group_width);
    }

    [[nodiscard]] std::uint64_t column_words(vulkan::Push& push, const Pass& pass,
                                             std::int64_t count, std::int64_t begin,
                                             std::int64_t end) const {
        const std::int64_t items = count * pass.sums();
        set(push, std::array<std::int64_t, 12>{
                      items, pass.split.inner, pass.parts, pass.part_length, pass.split.length,
                      pass.split.outer, pass.result.stride, pass.operand.stride,
                      pass.offsets.stride, begin, end, pass.flags});
        return groups_for(items, plain_width_);
    }

    [[nodiscard]] static std::uint64_t ordered_words(vulkan::Push& push, const Pass& pass,
                                                     std::int64_t count, std::int64_t begin,
                                                     std::int64_t end) {
        const std::int64_t rows = count * pass.split.outer;
        const auto of_group = static_cast<std::int64_t>(std::min<std::uint64_t>(
            std::bit_ceil(static_cast<std::uint64_t>(rows)), ordered_group_width));
        set(push, std::array<std::int64_t, 9>{rows, of_group, pass.split.length, pass.split.outer,
                                              pass.result.stride, pass.operand.stride, begin, end,
                                              pass.flags});
        return groups_for(rows, static_cast<std::uint32_t>(of_group));
    }

    bool per_individual_, real_, ordered_;
    std::uint32_t plain_width_;
    std::int64_t max_turns_;
    std::vector<Pass> passes_;
    std::vector<const vulkan::Pipeline*> pipelines_;
};

}  // namespace

std::unique_ptr<Kernel> make_cumsum(const KernelContext& context) {
    return std::make_unique<CumsumKernel>(context);
}

}  // namespace cambrian::gpu
