#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cambrian/engine/graph/attention_sizes.hpp"
#include "cambrian/gpu/execution/compiled_graph.hpp"
#include "cambrian/gpu/execution/kernel.hpp"

namespace cambrian::gpu {

/// The tensors of an attention and what its kernels know of them (shaders/attention/heads.glsl).
class AttentionOperands {
  public:
    /// In the order of the shaders.
    enum Tensor : std::size_t {
        q,
        k,
        v,
        upstream,
        log_sum_exp,
        offset,
        result,
        second_result,
        tensor_count,
    };
    /// Other names for some of them (shaders/attention/few_queries.glsl).
    static constexpr Tensor own_key = upstream;
    static constexpr Tensor own_value = offset;
    static constexpr Tensor partial = second_result;

    /// A tensor that a kernel reads or writes; without elements it has no part in it.
    struct View {
        BufferView buffer{};
        std::int64_t elements = 0;  ///< Of one individual.
        std::int64_t width = 0;     ///< Of a row of a matrix; 0: one word after another.
        bool written = false;
    };
    using Views = std::array<View, tensor_count>;

    /// Which keys a query sees, and by what its scores are multiplied.
    struct Scores {
        double scale = 1.0;
        bool causal = false;
        bool own_row = false;     ///< After the keys that count there is one of its own.
        std::int64_t window = 0;  ///< The last so many keys; 0: all.
    };
    /// How many keys count, a number for every so many key heads; without any all keys do.
    struct Counts {
        BufferView buffer{};
        std::int64_t elements = 0;
    };

    AttentionOperands(const KernelContext& context, const AttentionSizes& sizes,
                      const Scores& scores, const Views& views, const Counts& counts);

    [[nodiscard]] const AttentionSizes& sizes() const { return sizes_; }
    /// Workgroups of a run with so many for each key head.
    [[nodiscard]] std::uint64_t groups(const Frame& frame, std::int64_t of_head) const;
    /// With the addresses and the workgroups of a head; other words are 0.
    [[nodiscard]] vulkan::Push push(const Frame& frame, std::int64_t of_head) const;
    /// Whether all rows of matrices start on a vector. A software device has one pipeline for both,
    /// because it compiles for longer than it computes.
    [[nodiscard]] bool only_vectors(const vulkan::Push& push) const;
    [[nodiscard]] std::vector<vulkan::Range> reads(const Frame& frame) const;
    [[nodiscard]] std::vector<vulkan::Range> writes(const Frame& frame) const;
    /// A tensor, and how many keys count: what a kernel reads that goes on from it.
    [[nodiscard]] std::vector<vulkan::Range> reads_of(const Frame& frame, Tensor tensor) const;

  private:
    [[nodiscard]] std::vector<std::uint32_t> table_words(const Scores& scores) const;
    [[nodiscard]] std::vector<vulkan::Range> ranges(const Frame& frame, bool written) const;
    void add_counts(const Frame& frame, std::vector<vulkan::Range>& reads) const;

    Resources& resources_;
    AttentionSizes sizes_;
    Views views_;
    bool per_individual_;
    Counts counts_;
    BufferView table_{};
};

}  // namespace cambrian::gpu
