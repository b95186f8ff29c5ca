#include <algorithm>
#include <array>
#include <vector>

#include "cambrian/gpu/execution/walk.hpp"
#include "cambrian/gpu/kernels/attention/few_queries.hpp"
#include "cambrian/gpu/kernels/attention/operands.hpp"
#include "cambrian/gpu/kernels/attention/tile.hpp"
#include "cambrian/gpu/kernels/kernel_table.hpp"

namespace cambrian::gpu {
namespace {

/// One kernel: what its workgroups own, and what they walk over.
struct Walker {
    std::string_view shader;
    std::int64_t owned = 0;    ///< Rows of a key head that are cut into workgroups.
    std::int64_t walked = 0;   ///< Rows of a key head that each of them walks over.
    std::int64_t columns = 0;  ///< Of what it sums up.
    int sums = 1;
};

/// Runs one of the three tiled kernels of attention.
class AttentionDispatch {
  public:
    AttentionDispatch(const KernelContext& context, const Walker& walker,
                      const AttentionOperands& operands)
        : resources_(context.owner.resources()),
          walker_(walker),
          operands_(operands),
          tile_(choose_attention_tile(walker.columns, walker.sums, resources_.device.limits())) {}

    void record(vulkan::Recorder& recorder, const Frame& frame) const {
        const std::int64_t tiles = parts(walker_.owned, tile_.rows);
        const std::uint64_t groups = operands_.groups(frame, tiles);
        if (groups == 0) return;
        vulkan::Push push = operands_.push(frame, tiles);
        const vulkan::Pipeline& kernel = pipeline(operands_.only_vectors(push));
        const std::vector<vulkan::Range> reads = operands_.reads(frame);
        const std::vector<vulkan::Range> writes = operands_.writes(frame);
        for (std::int64_t column = 0; column < walker_.columns; column += tile_.columns) {
            push.word[6] = word(column);
            for_each_stretch([&](std::int64_t begin, std::int64_t end) {
                push.word[4] = word(begin);
                push.word[5] = word(end);
                recorder.dispatch(kernel, push, groups, reads, writes);
            });
        }
    }

  private:
    static std::int64_t parts(std::int64_t extent, std::int64_t part) {
        return (extent + part - 1) / part;
    }

    /// The walk in stretches that a device finishes in one dispatch.
    template <class Function>
    void for_each_stretch(Function&& function) const {
        const std::int64_t side = tile_.side;
        const AttentionSizes& sizes = operands_.sizes();
        const std::int64_t chunks = parts(sizes.width, side) + parts(sizes.value_width, side) +
                                    2 * tile_.columns / side + 2;
        const std::int64_t loads = side * side / 4 / tile_.threads() + 1;
        const std::int64_t turns = chunks * (side / 4 + 3 * loads + 1) * 2;
        const std::int64_t step = std::max<std::int64_t>(max_turns(resources_) / turns, 1);
        const std::int64_t tiles = parts(walker_.walked, side);
        for (std::int64_t begin = 0; begin < tiles; begin += step)
            function(begin, std::min(begin + step, tiles));
    }

    [[nodiscard]] const vulkan::Pipeline& pipeline(bool wide) const {
        return static_pipeline(resources_, walker_.shader,
                               std::array{tile_.threads(), tile_.rows, tile_.side, tile_.columns,
                                          tile_.thread_rows, wide ? 1U : 0U});
    }

    Resources& resources_;
    Walker walker_;
    AttentionOperands operands_;
    const AttentionTile& tile_;
};

class AttentionKernel : public Kernel {
  public:
    explicit AttentionKernel(std::vector<AttentionDispatch> dispatches)
        : dispatches_(std::move(dispatches)) {}

    void record(vulkan::Recorder& recorder, const Frame& frame) const override {
        for (const AttentionDispatch& dispatch : dispatches_) dispatch.record(recorder, frame);
    }

  private:
    std::vector<AttentionDispatch> dispatches_;
};

AttentionOperands::View operand(const KernelContext& context, std::size_t index,
                                std::int64_t width) {
    return {context.operands[index], context.operand(index).shape.elements(), width, false};
}

AttentionOperands::View result(const KernelContext& context, std::size_t index,
                               std::int64_t width) {
    return {context.results[index], context.result(index).shape.elements(), width, true};
}

AttentionSizes sizes_of(const KernelContext& context) {
    return attention_sizes(context.operand(0).shape, context.operand(1).shape,
                           context.operand(2).shape);
}

AttentionOperands::Scores scores_of(const KernelContext& context) {
    const auto& attribute = context.attribute<AttentionAttribute>();
    return {.scale = attribute.scale, .causal = attribute.causal};
}

/// Where there is an operand after the tensors.
AttentionOperands::Counts valid_keys(const KernelContext& context, std::size_t tensors) {
    if (context.operands.size() <= tensors) return {};
    return {context.operands[tensors], 1};
}

}  // namespace

std::unique_ptr<Kernel> make_attention(const KernelContext& context) {
    using Tensor = AttentionOperands::Tensor;
    const AttentionSizes sizes = sizes_of(context);
    AttentionOperands::Views views{};
    views[Tensor::q] = operand(context, 0, sizes.width);
    views[Tensor::k] = operand(context, 1, sizes.width);
    views[Tensor::v] = operand(context, 2, sizes.value_width);
    views[Tensor::result] = result(context, 0, sizes.value_width);
    views[Tensor::log_sum_exp] = result(context, 1, 0);
    constexpr std::size_t tensors = 3;
    const AttentionOperands::Counts counts = valid_keys(context, tensors);
    if (has_few_queries(sizes, context.owner.resources()))
        return make_few_queries(context, sizes, scores_of(context), views, counts);
    const Walker walker{.shader = "attention",
                        .owned = sizes.rows,
                        .walked = sizes.keys,
                        .columns = sizes.value_width};
    const AttentionOperands operands(context, sizes, scores_of(context), views, counts);
    return std::make_unique<AttentionKernel>(
        std::vector{AttentionDispatch(context, walker, operands)});
}

std::unique_ptr<Kernel> make_attention_gradient(const KernelContext& context) {
    using Tensor = AttentionOperands::Tensor;
    const AttentionSizes sizes = sizes_of(context);
    AttentionOperands::Views views{};
    views[Tensor::q] = operand(context, 0, sizes.width);
    views[Tensor::k] = operand(context, 1, sizes.width);
    views[Tensor::v] = operand(context, 2, sizes.value_width);
    views[Tensor::log_sum_exp] = operand(context, 3, 0);
    views[Tensor::upstream] = operand(context, 4, sizes.value_width);
    views[Tensor::offset] = operand(context, 5, 0);
    AttentionOperands::Views of_keys = views;
    of_keys[Tensor::result] = result(context, 1, sizes.width);
    of_keys[Tensor::second_result] = result(context, 2, sizes.value_width);
    views[Tensor::result] = result(context, 0, sizes.width);

    const Walker query_walker{.shader = "attention_query_gradient",
                              .owned = sizes.rows,
                              .walked = sizes.keys,
                              .columns = sizes.width};
    const Walker key_walker{.shader = "attention_key_gradient",
                            .owned = sizes.keys,
                            .walked = sizes.rows,
                            .columns = std::max(sizes.width, sizes.value_width),
                            .sums = 2};
    const AttentionOperands::Scores scores = scores_of(context);
    constexpr std::size_t tensors = 6;
    const AttentionOperands::Counts counts = valid_keys(context, tensors);
    const AttentionOperands for_queries(context, sizes, scores, views, counts);
    const AttentionOperands for_keys(context, sizes, scores, of_keys, counts);
    return std::make_unique<AttentionKernel>(
        std::vector{AttentionDispatch(context, query_walker, for_queries),
                    AttentionDispatch(context, key_walker, for_keys)});
}

std::unique_ptr<Kernel> make_cached_attention(const KernelContext& context) {
    using Tensor = AttentionOperands::Tensor;
    using Operand = CachedAttentionOperand;
    const AttentionSizes sizes = sizes_of(context);
    const auto& attribute = context.attribute<CachedAttentionAttribute>();
    AttentionOperands::Views views{};
    views[Tensor::q] = operand(context, Operand::query, sizes.width);
    views[Tensor::k] = operand(context, Operand::keys, sizes.width);
    views[Tensor::v] = operand(context, Operand::values, sizes.value_width);
    views[AttentionOperands::own_key] = operand(context, Operand::own_key, sizes.width);
    views[AttentionOperands::own_value] = operand(context, Operand::own_value, sizes.value_width);
    views[Tensor::result] = result(context, 0, sizes.value_width);
    return make_few_queries(
        context, sizes, {.scale = attribute.scale, .own_row = true, .window = attribute.window},
        views,
        {context.operands[Operand::position], context.operand(Operand::position).shape.elements()});
}

}  // namespace cambrian::gpu
