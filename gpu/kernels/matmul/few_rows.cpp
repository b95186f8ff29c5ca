#include "cambrian/gpu/kernels/matmul/few_rows.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "cambrian/gpu/execution/walk.hpp"

namespace cambrian::gpu {
namespace {

// As in the shader: 256 invocations add up, the others read.
constexpr std::uint32_t few_rows_threads = 512;
constexpr std::uint32_t few_rows_columns = 32;
constexpr std::int64_t ahead = 4;  ///< Stages that are read together.
constexpr std::uint32_t deep_stage = 128;
/// Of a device with little shared memory.
constexpr std::uint32_t short_stage = 64;

constexpr std::int64_t stage_bytes(std::int64_t depth) {
    constexpr std::int64_t stages = 2;
    constexpr std::int64_t vector_bytes = 16;
    return stages * vector_bytes *
           (few_rows_columns * (depth / 4 + 1) + FewRows::max_rows * (depth / 4));
}

}  // namespace

FewRows::FewRows(const KernelContext& context, const PackedFormat& format)
    : resources_(context.owner.resources()),
      format_(format),
      depth_(stage_bytes(deep_stage) <= resources_.device.limits().shared_bytes ? deep_stage
                                                                                : short_stage) {}

bool FewRows::fits() const {
    const vulkan::DeviceLimits& limits = resources_.device.limits();
    return limits.max_group_threads >= few_rows_threads &&
           stage_bytes(depth_) <= limits.shared_bytes;
}

void FewRows::record(vulkan::Recorder& recorder, const Frame& frame, const MatmulOperands& operands,
                     const MatmulOperands::Size& size) const {
    vulkan::Push push = operands.push(frame, size);
    const std::uint64_t groups = operands.tiles(size, max_rows, few_rows_columns, push);
    const std::uint32_t vectors = operands.right_aligned(frame) ? 1 : 0;
    const vulkan::Pipeline& kernel = static_pipeline(
        resources_, "matmul_few_rows",
        std::array{few_rows_threads, format_.kind, format_.bits, format_.group, depth_,
                   format_.bits >= 8 ? vectors : 0U, activation_constant(operands.epilogue())});
    const std::vector<vulkan::Range> reads = operands.reads(frame);
    const std::array writes{operands.result(frame)};
    // A turn for every stage, and some that compilers leave inside one.
    const std::int64_t stages = std::max<std::int64_t>(max_turns(resources_) / 128, ahead);
    const std::int64_t step = stages / ahead * ahead * static_cast<std::int64_t>(depth_);
    std::int64_t begin = 0;
    do {
        const std::int64_t end = std::min(begin + step, operands.k());
        push.word[5] = static_cast<std::uint32_t>(begin);
        push.word[13] = static_cast<std::uint32_t>(end);
        recorder.dispatch(kernel, push, groups, reads, writes);
        begin = end;
    } while (begin < operands.k());
}

}  // namespace cambrian::gpu
