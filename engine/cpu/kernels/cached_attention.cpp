#include <algorithm>
#include <vector>

#include "cambrian/engine/cpu/execution/compiled_graph.hpp"
#include "cambrian/engine/cpu/execution/kernel_table.hpp"
#include "cambrian/engine/cpu/kernels/attention_tiles.hpp"

// cached_attention under fast math: only the cached rows that are seen are read.
namespace cambrian::cpu {
namespace {

class CachedAttention : public Kernel {
  public:
    explicit CachedAttention(const KernelContext& context)
        : window_(context.attribute<CachedAttentionAttribute>().window),
          tiles_(attention_sizes(context.operand(0).shape, context.operand(1).shape,
                                 context.operand(2).shape),
                 {.scale = context.attribute<CachedAttentionAttribute>().scale}),
          operands_(context.operands.begin(), context.operands.end()),
          result_(context.results[0]),
          heads_(context.operand(1).shape[-3]) {
        context.owner.part_scratch(tiles_.tile_words() + tiles_.gemm_words());
    }

    void run(Frame& frame, std::int64_t count) const override {
        const std::int64_t heads = tiles_.sizes.key_heads;
        for_each_part(frame.team, count * heads, [&](std::int64_t index, std::byte* scratch) {
            run_head(frame, index / heads, index % heads, reinterpret_cast<float*>(scratch));
        });
    }

  private:
    using Operand = CachedAttentionOperand;

    void run_head(Frame& frame, std::int64_t individual, std::int64_t head, float* scores) const {
        const AttentionSizes& sizes = tiles_.sizes;
        const auto rows_of = [&](std::size_t operand, std::int64_t words) {
            const BufferView& view = operands_[operand];
            return frame.at<float>(view) + individual * view.stride + head * words;
        };
        const float* k = rows_of(Operand::keys, sizes.keys * sizes.width);
        const float* v = rows_of(Operand::values, sizes.keys * sizes.value_width);
        const float* q = rows_of(Operand::query, sizes.rows * sizes.width);
        float* output = frame.at<float>(result_) + individual * result_.stride +
                        head * sizes.rows * sizes.value_width;
        const std::int64_t end = position_of(frame, individual, head);
        const std::int64_t begin = window_ > 0 ? std::max<std::int64_t>(end + 1 - window_, 0) : 0;
        for (std::int64_t first = 0; first < sizes.rows; first += AttentionTiles::max_rows) {
            const std::int64_t rows = std::min(AttentionTiles::max_rows, sizes.rows - first);
            OnlineSoftmax softmax(output + first * sizes.value_width, rows, sizes.value_width);
            const auto add = [&](const float* tile_k, const float* tile_v, std::int64_t keys) {
                softmax.add({.q = q + first * sizes.width,
                             .k = tile_k,
                             .v = tile_v,
                             .keys = keys,
                             .width = sizes.width,
                             .scale = tiles_.scale,
                             .scores = scores,
                             .scratch = scores + tiles_.tile_words()},
                            [keys](std::int64_t) { return keys; });
            };
            for (std::int64_t key = begin; key < end; key += AttentionTiles::max_keys)
                add(k + key * sizes.width, v + key * sizes.value_width,
                    std::min(AttentionTiles::max_keys, end - key));
            add(rows_of(Operand::own_key, sizes.width),
                rows_of(Operand::own_value, sizes.value_width), 1);
            for (std::int64_t row = 0; row < rows; ++row) static_cast<void>(softmax.finish(row));
        }
    }

    [[nodiscard]] std::int64_t position_of(const Frame& frame, std::int64_t individual,
                                           std::int64_t head) const {
        const BufferView& view = operands_[Operand::position];
        const std::int64_t at =
            frame.at<std::int32_t>(view)[individual * view.stride + head / heads_];
        return std::clamp<std::int64_t>(at, 0, tiles_.sizes.keys);
    }

    std::int64_t window_;
    AttentionTiles tiles_;
    std::vector<BufferView> operands_;
    BufferView result_;
    std::int64_t heads_;  ///< Key heads that share a position.
};

}  // namespace

std::unique_ptr<Kernel> make_cached_attention(const KernelContext& context) {
    return std::make_unique<CachedAttention>(context);
}

}  // namespace cambrian::cpu
