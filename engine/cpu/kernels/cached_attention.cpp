#include <algorithm>

#include "cambrian/engine/cpu/execution/compiled_graph.hpp"
#include "cambrian/engine/cpu/execution/kernel_table.hpp"
#include "cambrian/engine/cpu/gemm/gemm.hpp"
#include "cambrian/engine/cpu/kernels/attention_tiles.hpp"

// cached_attention under fast math: only the cached rows that are seen are read.
namespace cambrian::cpu {
namespace {

class CachedAttention : public Kernel {
  public:
    explicit CachedAttention(const KernelContext& context)
        : sizes_(attention_sizes(context.operand(0).shape, context.operand(1).shape,
                                 context.operand(2).shape)),
          attribute_(context.attribute<CachedAttentionAttribute>()),
          operands_(context.operands.begin(), context.operands.end()),
          result_(context.results[0]),
          heads_(context.operand(1).shape[-3]),
          rows_(std::min(AttentionTiles::max_rows, sizes_.rows)) {
        context.owner.part_scratch(rows_ * keys_of_tile() + gemm_words());
    }

    void run(Frame& frame, std::int64_t count) const override {
        for_each_part(frame.team, count * sizes_.key_heads,
                      [&](std::int64_t index, std::byte* scratch) {
                          run_head(frame, index / sizes_.key_heads, index % sizes_.key_heads,
                                   reinterpret_cast<float*>(scratch));
                      });
    }

  private:
    using Operand = CachedAttentionOperand;

    /// Queries of a head, and what they see.
    struct Head {
        const float* q = nullptr;
        float* output = nullptr;
        std::int64_t rows = 0;
        float* scores = nullptr;
        float* scratch = nullptr;
    };

    void run_head(Frame& frame, std::int64_t individual, std::int64_t head, float* scores) const {
        const auto rows_of = [&](std::size_t operand, std::int64_t words) {
            const BufferView& view = operands_[operand];
            return frame.at<float>(view) + individual * view.stride + head * words;
        };
        const float* k = rows_of(Operand::keys, sizes_.keys * sizes_.width);
        const float* v = rows_of(Operand::values, sizes_.keys * sizes_.value_width);
        const float* q = rows_of(Operand::query, sizes_.rows * sizes_.width);
        float* output = frame.at<float>(result_) + individual * result_.stride +
                        head * sizes_.rows * sizes_.value_width;
        const std::int64_t end = position_of(frame, individual, head);
        const std::int64_t begin =
            attribute_.window > 0 ? std::max<std::int64_t>(end + 1 - attribute_.window, 0) : 0;
        for (std::int64_t first = 0; first < sizes_.rows; first += rows_) {
            const Head own{.q = q + first * sizes_.width,
                           .output = output + first * sizes_.value_width,
                           .rows = std::min(rows_, sizes_.rows - first),
                           .scores = scores,
                           .scratch = scores + rows_ * keys_of_tile()};
            OnlineSoftmax softmax(own.output, own.rows, sizes_.value_width);
            for (std::int64_t key = begin; key < end; key += AttentionTiles::max_keys)
                add(own, softmax, k + key * sizes_.width, v + key * sizes_.value_width,
                    std::min(AttentionTiles::max_keys, end - key));
            add(own, softmax, rows_of(Operand::own_key, sizes_.width),
                rows_of(Operand::own_value, sizes_.value_width), 1);
            for (std::int64_t row = 0; row < own.rows; ++row)
                static_cast<void>(softmax.finish(row));
        }
    }

    /// All queries see all these keys.
    void add(const Head& head, OnlineSoftmax& softmax, const float* k, const float* v,
             std::int64_t count) const {
        Gemm{.m = head.rows,
             .n = count,
             .k = sizes_.width,
             .transpose_b = true,
             .factor = static_cast<float>(attribute_.scale)}(head.scratch, head.q, k, head.scores);
        for (std::int64_t row = 0; row < head.rows; ++row)
            softmax.weigh(row, head.scores + row * count, count, count);
        Gemm{.m = head.rows, .n = sizes_.value_width, .k = count, .adds = true}(
            head.scratch, head.scores, v, head.output);
    }

    [[nodiscard]] std::int64_t position_of(const Frame& frame, std::int64_t individual,
                                           std::int64_t head) const {
        const BufferView& view = operands_[Operand::position];
        const std::int64_t at =
            frame.at<std::int32_t>(view)[individual * view.stride + head / heads_];
        return std::clamp<std::int64_t>(at, 0, sizes_.keys);
    }

    [[nodiscard]] std::int64_t keys_of_tile() const {
        return std::min(AttentionTiles::max_keys, sizes_.keys);
    }
    /// Words that the products of a tile use.
    [[nodiscard]] std::int64_t gemm_words() const {
        const Gemm scores{.m = rows_, .n = keys_of_tile(), .k = sizes_.width};
        const Gemm sums{.m = rows_, .n = sizes_.value_width, .k = keys_of_tile()};
        return std::max(scores.enough_words(), sums.enough_words());
    }

    AttentionSizes sizes_;
    CachedAttentionAttribute attribute_;
    std::vector<BufferView> operands_;
    BufferView result_;
    std::int64_t heads_;  ///< Key heads that share a position.
    std::int64_t rows_;   ///< Of a tile.
};

}  // namespace

std::unique_ptr<Kernel> make_cached_attention(const KernelContext& context) {
    return std::make_unique<CachedAttention>(context);
}

}  // namespace cambrian::cpu
