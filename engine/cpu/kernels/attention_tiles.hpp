#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "cambrian/engine/cpu/gemm/gemm.hpp"
#include "cambrian/engine/graph/attention_sizes.hpp"
#include "cambrian/engine/graph/op.hpp"

namespace cambrian::cpu {

/// An attention of one individual, cut into tiles of queries by keys.
struct AttentionTiles {
    static constexpr std::int64_t max_rows = 128;
    static constexpr std::int64_t max_keys = 128;

    AttentionTiles(const AttentionSizes& extents, const AttentionAttribute& attribute)
        : sizes(extents), scale(static_cast<float>(attribute.scale)), causal(attribute.causal) {}

    /// Row r sees the keys below this one, of `count` keys that count.
    [[nodiscard]] std::int64_t end(std::int64_t row, std::int64_t count) const {
        if (!causal) return count;
        return std::clamp<std::int64_t>(row % sizes.queries + 1 + count - sizes.queries, 0, count);
    }
    /// The same for a tile: what its row with the most keys sees.
    [[nodiscard]] std::int64_t end(std::int64_t first, std::int64_t rows,
                                   std::int64_t count) const {
        const std::int64_t last = first + rows - 1;
        const bool one_head = first / sizes.queries == last / sizes.queries;
        return one_head ? end(last, count) : end(sizes.queries - 1, count);
    }
    /// Scores of a whole tile.
    [[nodiscard]] std::int64_t tile_words() const {
        return std::min(max_rows, sizes.rows) * std::min(max_keys, sizes.keys);
    }
    /// Words that the products of a tile use.
    [[nodiscard]] std::int64_t gemm_words() const;

    AttentionSizes sizes;
    float scale;
    bool causal;
};

/// Rows of q beside rows of k and v, what scores are multiplied with, and room for a tile of them.
struct ScoreTile {
    const float* q = nullptr;
    const float* k = nullptr;
    const float* v = nullptr;
    std::int64_t keys = 0;
    std::int64_t width = 0;  ///< Of q and k.
    float scale = 1.0F;
    float* scores = nullptr;
    float* scratch = nullptr;  ///< Of products.
};

/// Rows of a result whose scores come tile by tile: a row holds its largest score so far, the sum
/// of exponentials below it, and the values weighted by them (Milakov and Gimelshein, 2018).
class OnlineSoftmax {
  public:
    /// @param output count × width, which begins as zeros.
    OnlineSoftmax(float* output, std::int64_t count, std::int64_t width);

    /// Adds the values of a tile by their weights.
    /// @param seen how many of its keys a row sees, from the first on.
    template <class Seen>
    void add(const ScoreTile& tile, Seen&& seen) {
        Gemm{.m = count_,
             .n = tile.keys,
             .k = tile.width,
             .transpose_b = true,
             .factor = tile.scale}(tile.scratch, tile.q, tile.k, tile.scores);
        for (std::int64_t row = 0; row < count_; ++row)
            weigh(row, tile.scores + row * tile.keys, seen(row), tile.keys);
        Gemm{.m = count_, .n = width_, .k = tile.keys, .adds = true}(tile.scratch, tile.scores,
                                                                     tile.v, output_);
    }
    /// What was summed up becomes the result of the row. Returns the log of the sum of e^score.
    float finish(std::int64_t row);

  private:
    /// The first `seen` of a row's scores become weights, the others of the tile zeros, and what
    /// the row holds is brought below the new largest score.
    void weigh(std::int64_t row, float* scores, std::int64_t seen, std::int64_t keys);

    float* output_;
    std::int64_t count_;
    std::int64_t width_;
    std::array<float, AttentionTiles::max_rows> largest_;
    std::array<float, AttentionTiles::max_rows> sum_;
};

/// s[i] = e^(s[i] - shift) for i < seen, else 0.
void exponentials(float* s, std::int64_t seen, std::int64_t count, float shift);

}  // namespace cambrian::cpu
