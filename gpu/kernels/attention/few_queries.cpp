#include "cambrian/gpu/kernels/attention/few_queries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/gpu/execution/walk.hpp"

namespace cambrian::gpu {
namespace {

constexpr std::int64_t max_queries = 8;
/// As in attention_merge.comp.
constexpr std::uint32_t merge_threads = 128;

/// Invocations of a workgroup, and keys of a part. A software device runs them one after another.
std::uint32_t threads_of(const Resources& resources) {
    return resources.device.limits().software ? 32 : 128;
}

std::int64_t parts_of(std::int64_t keys, const Resources& resources) {
    const std::int64_t own = threads_of(resources);
    return (keys + own - 1) / own;
}

/// Whether no invocation walks for too long: over the width of a row, or over all parts.
bool walks_end(const AttentionSizes& sizes, std::int64_t parts, const Resources& resources) {
    const std::int64_t rows = 2 * (sizes.width + sizes.value_width);
    const std::int64_t merge = parts * (sizes.value_width / merge_threads + 2);
    return std::max(rows, merge) < max_turns(resources);
}

class FewQueries : public Kernel {
  public:
    FewQueries(const KernelContext& context, const AttentionOperands& operands, std::int64_t parts)
        : resources_(context.owner.resources()),
          operands_(operands),
          parts_(parts),
          queries_(std::min(operands.sizes().rows, max_queries)) {
        // One pipeline for all on a software device, which compiles for longer than it computes.
        if (resources_.device.limits().software) queries_ = max_queries;
    }

    void record(vulkan::Recorder& recorder, const Frame& frame) const override {
        const std::int64_t rows = operands_.sizes().rows;
        const std::int64_t tiles = (rows + queries_ - 1) / queries_ * parts_;
        const std::uint64_t groups = operands_.groups(frame, tiles);
        if (groups == 0) return;
        const vulkan::Push push = arguments(frame, tiles);
        recorder.dispatch(pipeline(operands_.only_vectors(push)), push, groups,
                          operands_.reads(frame), operands_.writes(frame));
        if (parts_ == 1) return;
        const std::vector<vulkan::Range> states =
            operands_.reads_of(frame, AttentionOperands::partial);
        recorder.dispatch(static_pipeline(resources_, "attention_merge", std::array{merge_threads}),
                          arguments(frame, rows), operands_.groups(frame, rows), states,
                          operands_.writes(frame));
    }

  private:
    [[nodiscard]] vulkan::Push arguments(const Frame& frame, std::int64_t tiles) const {
        vulkan::Push push = operands_.push(frame, tiles);
        push.word[4] = word(parts_);
        push.word[5] = threads_of(resources_);
        return push;
    }

    [[nodiscard]] const vulkan::Pipeline& pipeline(bool only_vectors) const {
        const AttentionSizes& sizes = operands_.sizes();
        const std::uint32_t threads = threads_of(resources_);
        const bool software = resources_.device.limits().software;
        const auto quads = static_cast<std::uint32_t>((sizes.value_width + 3) / 4);
        const std::uint32_t column_threads = software ? 8 : std::min(std::bit_ceil(quads), threads);
        return static_pipeline(
            resources_, "attention_few_queries",
            std::array{threads, word(queries_), column_threads, 0U, 0U, only_vectors ? 1U : 0U});
    }

    Resources& resources_;
    AttentionOperands operands_;
    std::int64_t parts_;    ///< Of the keys.
    std::int64_t queries_;  ///< Of a workgroup.
};

}  // namespace

bool has_few_queries(const AttentionSizes& sizes, const Resources& resources) {
    return sizes.queries == 1 && sizes.rows <= max_queries &&
           walks_end(sizes, parts_of(sizes.keys, resources), resources);
}

std::unique_ptr<Kernel> make_few_queries(const KernelContext& context, const AttentionSizes& sizes,
                                         const AttentionOperands::Scores& scores,
                                         AttentionOperands::Views views,
                                         const AttentionOperands::Counts& counts) {
    const Resources& resources = context.owner.resources();
    const std::int64_t parts = parts_of(sizes.keys + (scores.own_row ? 1 : 0), resources);
    if (!walks_end(sizes, parts, resources))
        throw DeviceError(
            fmt::format("a query cannot see {} keys of {} and {} numbers here (an invocation would "
                        "walk for too long) use another device or the CPU",
                        sizes.keys, sizes.width, sizes.value_width));
    if (parts > 1) {
        // Largest score and sum of weights after the values, see few_queries.glsl.
        const std::int64_t state_words = sizes.value_width + 2;
        AttentionOperands::View& partial = views[AttentionOperands::partial];
        partial.elements = sizes.key_heads * parts * sizes.rows * state_words;
        partial.buffer = context.owner.scratch(partial.elements, context.per_individual);
        partial.written = true;
    }
    return std::make_unique<FewQueries>(
        context, AttentionOperands(context, sizes, scores, views, counts), parts);
}

}  // namespace cambrian::gpu
