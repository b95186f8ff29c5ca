#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/graph/attention_sizes.hpp"
#include "cambrian/gpu/execution/walk.hpp"
#include "cambrian/gpu/kernels/attention/tile.hpp"
#include "cambrian/gpu/kernels/kernel_table.hpp"

namespace cambrian::gpu {
namespace {

// As in shaders/attention/attention.glsl.
enum AttentionTensor : std::size_t {
    q_tensor,
    k_tensor,
    v_tensor,
    upstream_tensor,
    log_sum_exp_tensor,
    offset_tensor,
    result_tensor,
    second_result_tensor,
    tensor_count,
};
constexpr std::uint32_t flag_causal = 1;
constexpr std::uint32_t flag_valid = 2;

/// A tensor that a kernel reads or writes; without elements it has no part in it.
struct AttentionView {
    BufferView buffer;
    std::int64_t elements = 0;  ///< Of one individual.
    std::int64_t width = 1;     ///< Of a row.
    bool written = false;
};

/// One kernel: what its workgroups own, and what they walk over.
struct Walker {
    std::string_view shader;
    std::int64_t owned = 0;    ///< Rows of a key head that are cut into workgroups.
    std::int64_t walked = 0;   ///< Rows of a key head that each of them walks over.
    std::int64_t columns = 0;  ///< Of what it sums up.
    int sums = 1;
    std::array<AttentionView, tensor_count> views{};
};

/// Runs one of the three kernels of attention.
class AttentionDispatch {
  public:
    AttentionDispatch(const KernelContext& context, const Walker& walker,
                      const AttentionSizes& sizes, std::size_t tensors)
        : resources_(context.owner.resources()),
          walker_(walker),
          sizes_(sizes),
          per_individual_(context.per_individual),
          tile_(choose_attention_tile(walker.columns, walker.sums, resources_.device.limits())) {
        has_valid_ = context.operands.size() > tensors;
        if (has_valid_) valid_ = context.operands[tensors];
        table_ = context.owner.table(table_words(context.attribute<AttentionAttribute>()));
    }

    void record(vulkan::Recorder& recorder, const Frame& frame) const {
        const std::int64_t individuals = per_individual_ ? frame.population : 1;
        const std::int64_t tiles = parts(walker_.owned, tile_.rows);
        const std::int64_t groups = individuals * sizes_.key_heads * tiles;
        if (groups == 0) return;
        if (groups > std::numeric_limits<std::uint32_t>::max())
            throw DeviceError(
                "an attention has too many tiles (more than 2^32 in one run) evaluate fewer "
                "individuals at once");
        vulkan::Push push = arguments(frame);
        const vulkan::Pipeline& kernel = pipeline(only_vectors(push));
        push.word[7] = word(tiles);
        std::vector<vulkan::Range> reads;
        std::vector<vulkan::Range> writes;
        for (const AttentionView& view : walker_.views)
            if (view.elements > 0)
                (view.written ? writes : reads).push_back(frame.range(view.buffer, view.elements));
        if (has_valid_) reads.push_back(frame.range(valid_, 1));
        for (std::int64_t column = 0; column < walker_.columns; column += tile_.columns) {
            push.word[6] = word(column);
            for_each_stretch([&](std::int64_t begin, std::int64_t end) {
                push.word[4] = word(begin);
                push.word[5] = word(end);
                recorder.dispatch(kernel, push, static_cast<std::uint64_t>(groups), reads, writes);
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
        const std::int64_t chunks = parts(sizes_.width, side) + parts(sizes_.value_width, side) +
                                    2 * tile_.columns / side + 2;
        const std::int64_t loads = side * side / 4 / tile_.threads() + 1;
        const std::int64_t turns = chunks * (side / 4 + 3 * loads + 1) * 2;
        const std::int64_t step = std::max<std::int64_t>(max_turns(resources_) / turns, 1);
        const std::int64_t tiles = parts(walker_.walked, side);
        for (std::int64_t begin = 0; begin < tiles; begin += step)
            function(begin, std::min(begin + step, tiles));
    }

    [[nodiscard]] std::vector<std::uint32_t> table_words(const AttentionAttribute& attribute) {
        std::vector<std::uint32_t> words{
            word(sizes_.rows),
            word(sizes_.queries),
            word(sizes_.keys),
            word(sizes_.width),
            word(sizes_.value_width),
            word(sizes_.key_heads),
            (attribute.causal ? flag_causal : 0) | (has_valid_ ? flag_valid : 0),
            std::bit_cast<std::uint32_t>(static_cast<float>(attribute.scale))};
        for (const AttentionView& view : walker_.views) words.push_back(word(view.buffer.stride));
        words.push_back(word(valid_.stride));
        return words;
    }

    [[nodiscard]] const vulkan::Pipeline& pipeline(bool wide) const {
        return static_pipeline(resources_, walker_.shader,
                               std::array{tile_.threads(), tile_.rows, tile_.side, tile_.columns,
                                          tile_.thread_rows, wide ? 1U : 0U});
    }

    /// Whether all rows of matrices start on a vector. A software device has one pipeline for both,
    /// because it compiles for longer than it computes.
    [[nodiscard]] bool only_vectors(const vulkan::Push& push) const {
        bool aligned = !resources_.device.limits().software;
        for (std::size_t i = 0; i < tensor_count; ++i) {
            const AttentionView& view = walker_.views[i];
            if (view.elements == 0 || i == log_sum_exp_tensor || i == offset_tensor) continue;
            aligned = aligned && view.width % vector_words == 0 &&
                      view.buffer.stride % vector_words == 0 &&
                      push.address[i] % (vector_words * word_bytes) == 0;
        }
        return aligned;
    }

    [[nodiscard]] vulkan::Push arguments(const Frame& frame) const {
        vulkan::Push push;
        const auto split = [&](std::size_t first, std::uint64_t address) {
            push.word[first] = static_cast<std::uint32_t>(address);
            push.word[first + 1] = static_cast<std::uint32_t>(address >> 32);
        };
        if (has_valid_) split(0, frame.address(valid_));
        split(2, frame.address(table_));
        for (std::size_t i = 0; i < tensor_count; ++i) {
            const AttentionView& view = walker_.views[i];
            if (view.elements == 0) continue;
            push.address[i] = frame.address(view.buffer);
        }
        return push;
    }

    Resources& resources_;
    Walker walker_;
    AttentionSizes sizes_;
    bool per_individual_;
    const AttentionTile& tile_;
    bool has_valid_ = false;
    BufferView valid_;
    BufferView table_;
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

AttentionView operand(const KernelContext& context, std::size_t index, std::int64_t width) {
    return {context.operands[index], context.operand(index).shape.elements(), width, false};
}

AttentionView result(const KernelContext& context, std::size_t index, std::int64_t width) {
    return {context.results[index], context.result(index).shape.elements(), width, true};
}

AttentionSizes sizes_of(const KernelContext& context) {
    return attention_sizes(context.operand(0).shape, context.operand(1).shape,
                           context.operand(2).shape);
}

}  // namespace

std::unique_ptr<Kernel> make_attention(const KernelContext& context) {
    const AttentionSizes sizes = sizes_of(context);
    Walker walker{.shader = "attention",
                  .owned = sizes.rows,
                  .walked = sizes.keys,
                  .columns = sizes.value_width};
    walker.views[q_tensor] = operand(context, 0, sizes.width);
    walker.views[k_tensor] = operand(context, 1, sizes.width);
    walker.views[v_tensor] = operand(context, 2, sizes.value_width);
    walker.views[result_tensor] = result(context, 0, sizes.value_width);
    walker.views[log_sum_exp_tensor] = result(context, 1, 1);
    return std::make_unique<AttentionKernel>(
        std::vector{AttentionDispatch(context, walker, sizes, 3)});
}

std::unique_ptr<Kernel> make_attention_gradient(const KernelContext& context) {
    const AttentionSizes sizes = sizes_of(context);
    Walker of_queries{.shader = "attention_query_gradient",
                      .owned = sizes.rows,
                      .walked = sizes.keys,
                      .columns = sizes.width};
    of_queries.views[q_tensor] = operand(context, 0, sizes.width);
    of_queries.views[k_tensor] = operand(context, 1, sizes.width);
    of_queries.views[v_tensor] = operand(context, 2, sizes.value_width);
    of_queries.views[log_sum_exp_tensor] = operand(context, 3, 1);
    of_queries.views[upstream_tensor] = operand(context, 4, sizes.value_width);
    of_queries.views[offset_tensor] = operand(context, 5, 1);

    Walker of_keys = of_queries;
    of_keys.shader = "attention_key_gradient";
    of_keys.owned = sizes.keys;
    of_keys.walked = sizes.rows;
    of_keys.columns = std::max(sizes.width, sizes.value_width);
    of_keys.sums = 2;
    of_keys.views[result_tensor] = result(context, 1, sizes.width);
    of_keys.views[second_result_tensor] = result(context, 2, sizes.value_width);

    of_queries.views[result_tensor] = result(context, 0, sizes.width);
    return std::make_unique<AttentionKernel>(
        std::vector{AttentionDispatch(context, of_queries, sizes, 6),
                    AttentionDispatch(context, of_keys, sizes, 6)});
}

}  // namespace cambrian::gpu
