#include <array>

#include "cambrian/engine/core/elementary.hpp"
#include "cambrian/engine/cpu/execution/compiled_graph.hpp"
#include "cambrian/engine/cpu/execution/kernel_table.hpp"
#include "cambrian/engine/cpu/gemm/gemm.hpp"
#include "cambrian/engine/cpu/kernels/attention_tiles.hpp"

// attention and attention_gradient under fast math: tiles of scores that never leave the cache. How
// they are cut depends on shapes and on the keys that count.
namespace cambrian::cpu {
namespace {

/// Runs parts of the key heads of individuals, each with scratch of its own.
class AttentionKernel : public Kernel {
  public:
    /// @param tensors that are operands; `valid` follows them where there is one.
    AttentionKernel(const KernelContext& context, std::size_t tensors)
        : tiles_(attention_sizes(context.operand(0).shape, context.operand(1).shape,
                                 context.operand(2).shape),
                 context.attribute<AttentionAttribute>()),
          has_valid_(context.operands.size() > tensors) {
        if (has_valid_) valid_ = context.operands[tensors];
        for (std::size_t i = 0; i < tensors; ++i) add(context.operands[i], context.operand(i));
        for (std::size_t i = 0; i < context.results.size(); ++i)
            add(context.results[i], context.result(i));
    }

    void run(Frame& frame, std::int64_t count) const override {
        const std::int64_t heads = tiles_.sizes.key_heads;
        for_each_part(
            frame.team, count * heads * parts_, [&](std::int64_t index, std::byte* scratch) {
                const std::int64_t part = index % parts_;
                const std::int64_t head = index / parts_ % heads;
                const std::int64_t individual = index / parts_ / heads;
                Pointers at{};
                for (std::size_t t = 0; t < tensors_.size(); ++t) {
                    const BufferView& ref = tensors_[t].ref;
                    at[t] =
                        frame.at<float>(ref) + individual * ref.stride + head * tensors_[t].words;
                }
                run_part(at, part, counted(frame, individual), reinterpret_cast<float*>(scratch));
            });
    }

  protected:
    static constexpr std::size_t max_tensors = 9;
    using Pointers = std::array<float*, max_tensors>;

    /// @param at operands, then results, of the key head.
    virtual void run_part(const Pointers& at, std::int64_t part, std::int64_t count,
                          float* scratch) const = 0;

    AttentionTiles tiles_;
    std::int64_t parts_ = 1;  ///< Of a key head.

  private:
    struct Tensor {
        BufferView ref;
        std::int64_t words = 0;  ///< Of a key head.
    };

    void add(const BufferView& ref, const ValueInfo& info) {
        tensors_.push_back(
            {ref, info.shape.elements() / std::max<std::int64_t>(tiles_.sizes.key_heads, 1)});
    }
    [[nodiscard]] std::int64_t counted(const Frame& frame, std::int64_t individual) const {
        const std::int64_t keys = tiles_.sizes.keys;
        if (!has_valid_) return keys;
        const std::int64_t valid = frame.at<std::int32_t>(valid_)[individual * valid_.stride];
        return std::clamp<std::int64_t>(valid, 0, keys);
    }

    std::vector<Tensor> tensors_;
    BufferView valid_;
    bool has_valid_;
};

class ForwardKernel : public AttentionKernel {
  public:
    explicit ForwardKernel(const KernelContext& context) : AttentionKernel(context, 3) {
        parts_ = (tiles_.sizes.rows + AttentionTiles::max_rows - 1) / AttentionTiles::max_rows;
        context.owner.part_scratch(tiles_.tile_words() + tiles_.gemm_words());
    }

  private:
    void run_part(const Pointers& at, std::int64_t part, std::int64_t count,
                  float* scores) const override {
        const AttentionSizes& sizes = tiles_.sizes;
        const std::int64_t first = part * AttentionTiles::max_rows;
        const std::int64_t rows = std::min(AttentionTiles::max_rows, sizes.rows - first);
        const float* q = at[0] + first * sizes.width;
        float* output = at[3] + first * sizes.value_width;
        float* log_sum = at[4] + first;
        float* scratch = scores + tiles_.tile_words();
        OnlineSoftmax softmax(output, rows, sizes.value_width);
        const std::int64_t end = tiles_.end(first, rows, count);
        for (std::int64_t key = 0; key < end; key += AttentionTiles::max_keys) {
            const std::int64_t keys = std::min(AttentionTiles::max_keys, end - key);
            softmax.add({.q = q,
                         .k = at[1] + key * sizes.width,
                         .v = at[2] + key * sizes.value_width,
                         .keys = keys,
                         .width = sizes.width,
                         .scale = tiles_.scale,
                         .scores = scores,
                         .scratch = scratch},
                        [&](std::int64_t row) {
                            return std::clamp<std::int64_t>(tiles_.end(first + row, count) - key, 0,
                                                            keys);
                        });
        }
        for (std::int64_t row = 0; row < rows; ++row) log_sum[row] = softmax.finish(row);
    }
};

/// Weights again from the saved log-sum-exp, tile by tile.
class GradientKernel : public AttentionKernel {
  public:
    explicit GradientKernel(const KernelContext& context) : AttentionKernel(context, 6) {
        context.owner.part_scratch(2 * tiles_.tile_words() + tiles_.gemm_words());
    }

  private:
    void run_part(const Pointers& at, std::int64_t, std::int64_t count,
                  float* scratch) const override {
        const AttentionSizes& sizes = tiles_.sizes;
        std::fill_n(at[6], sizes.rows * sizes.width, 0.0F);
        std::fill_n(at[7], sizes.keys * sizes.width, 0.0F);
        std::fill_n(at[8], sizes.keys * sizes.value_width, 0.0F);
        for (std::int64_t key = 0; key < count; key += AttentionTiles::max_keys)
            for (std::int64_t first = 0; first < sizes.rows; first += AttentionTiles::max_rows) {
                const std::int64_t rows = std::min(AttentionTiles::max_rows, sizes.rows - first);
                const std::int64_t end = tiles_.end(first, rows, count);
                const std::int64_t keys = std::min(AttentionTiles::max_keys, end - key);
                if (keys > 0) run_tile(at, {first, rows, key, keys}, count, scratch);
            }
    }

    struct Tile {
        std::int64_t first;
        std::int64_t rows;
        std::int64_t key;
        std::int64_t keys;
    };

    void run_tile(const Pointers& at, const Tile& tile, std::int64_t count, float* weights) const {
        const std::int64_t width = tiles_.sizes.width;
        const std::int64_t value_width = tiles_.sizes.value_width;
        const float* q = at[0] + tile.first * width;
        const float* k = at[1] + tile.key * width;
        const float* v = at[2] + tile.key * value_width;
        const float* upstream = at[4] + tile.first * value_width;
        const auto& [first, rows, key, keys] = tile;
        float* by_score = weights + tiles_.tile_words();
        float* scratch = by_score + tiles_.tile_words();
        const float scale = tiles_.scale;

        Gemm{.m = rows, .n = keys, .k = width, .transpose_b = true, .factor = scale}(scratch, q, k,
                                                                                     weights);
        Gemm{.m = rows, .n = keys, .k = value_width, .transpose_b = true}(scratch, upstream, v,
                                                                          by_score);
        for (std::int64_t r = 0; r < rows; ++r) {
            float* own = weights + r * keys;
            const std::int64_t seen =
                std::clamp<std::int64_t>(tiles_.end(first + r, count) - key, 0, keys);
            exponentials(own, seen, keys, at[3][first + r]);
            const float offset = at[5][first + r];
            float* gradient = by_score + r * keys;
            for (std::int64_t i = 0; i < keys; ++i) gradient[i] = own[i] * (gradient[i] - offset);
        }
        Gemm{.m = keys, .n = value_width, .k = rows, .transpose_a = true, .adds = true}(
            scratch, weights, upstream, at[8] + key * value_width);
        Gemm{.m = rows, .n = width, .k = keys, .factor = scale, .adds = true}(
            scratch, by_score, k, at[6] + first * width);
        Gemm{.m = keys, .n = width, .k = rows, .transpose_a = true, .factor = scale, .adds = true}(
            scratch, by_score, q, at[7] + key * width);
    }
};

}  // namespace

std::unique_ptr<Kernel> make_attention(const KernelContext& context) {
    return std::make_unique<ForwardKernel>(context);
}

std::unique_ptr<Kernel> make_attention_gradient(const KernelContext& context) {
    return std::make_unique<GradientKernel>(context);
}

}  // namespace cambrian::cpu
