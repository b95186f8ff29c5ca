#include "cambrian/gpu/kernels/matmul/packed_chains.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/gpu/execution/walk.hpp"
#include "cambrian/gpu/kernels/matmul/few_rows.hpp"

namespace cambrian::gpu {
namespace {

// As in the shader.
constexpr std::uint32_t part_threads = 32;
constexpr std::uint32_t chains = 4;
constexpr std::uint32_t chain_pieces = 8;
constexpr std::uint32_t piece = 32;
constexpr std::uint32_t piece_words = piece + 4;  ///< Of x in shared memory.
constexpr std::int64_t group_numbers = chains * chain_pieces * piece;

/// Columns up to which more and smaller workgroups hide more of the way from memory.
constexpr std::int64_t max_small_columns = 8192;

constexpr auto max_rows = static_cast<std::uint32_t>(FewRows::max_rows);
constexpr std::uint32_t max_parts = 8;
constexpr std::uint32_t max_loads = 16;  ///< Of x by an invocation at once.
/// Turns of all loops for `parts` groups, about.
constexpr std::int64_t turns_of_groups = 64;

/// How many rows a workgroup has, how many groups of chains at once, how many pieces of x, and how
/// many rows of the matrix an invocation reads.
struct Cut {
    std::uint32_t rows = 1;
    std::uint32_t parts = 1;
    std::uint32_t stage = 1;
    std::uint32_t own_rows = 4;

    [[nodiscard]] std::uint32_t threads() const { return part_threads * parts; }
    [[nodiscard]] std::uint32_t columns() const { return part_threads / chains * own_rows; }
    [[nodiscard]] bool fits(const vulkan::DeviceLimits& limits) const {
        const std::int64_t words =
            std::int64_t{rows} * parts * chains * (stage * piece_words + columns());
        return threads() <= limits.max_group_threads && 4 * words <= limits.shared_bytes &&
               rows * stage <= max_loads;
    }
};

/// As many groups of chains at once as there are and fit, then as much of x. A software device has
/// few cuts, because it compiles for longer than it computes.
Cut cut_for(std::int64_t m, std::int64_t n, std::int64_t k, const vulkan::DeviceLimits& limits) {
    auto rows = static_cast<std::uint32_t>(std::clamp<std::int64_t>(m, 1, max_rows));
    std::int64_t groups = (k + group_numbers - 1) / group_numbers;
    if (limits.software) {
        rows = rows == 1 ? 1 : max_rows;
        groups = groups == 1 ? 1 : max_parts / 2;
    }
    Cut cut{.rows = std::bit_ceil(rows)};
    if (limits.software || n <= max_small_columns) cut.own_rows = 2;
    CAMBRIAN_ASSERT(cut.fits(limits));
    const auto grow = [&](std::uint32_t Cut::*field, std::int64_t enough) {
        for (Cut larger = cut; larger.*field < enough; cut = larger) {
            larger.*field *= 2;
            if (!larger.fits(limits)) return;
        }
    };
    grow(&Cut::parts, std::min<std::int64_t>(groups, max_parts));
    grow(&Cut::stage, limits.software ? 2 : chain_pieces);
    return cut;
}

}  // namespace

PackedChains::PackedChains(const KernelContext& context, const PackedFormat& format)
    : resources_(context.owner.resources()), format_(format) {}

void PackedChains::record(vulkan::Recorder& recorder, const Frame& frame,
                          const MatmulOperands& operands, const MatmulOperands::Size& size) const {
    const vulkan::DeviceLimits& limits = resources_.device.limits();
    const Cut cut = cut_for(size.m, operands.n(), operands.k(), limits);
    vulkan::Push push = operands.push(frame, size);
    const std::uint64_t tiles = operands.tiles(size, cut.rows, cut.columns(), push);
    bool right_vectors = operands.right_aligned(frame);
    bool left_vectors = operands.left_aligned(frame);
    if (limits.software) right_vectors = left_vectors = right_vectors && left_vectors;
    const vulkan::Pipeline& kernel =
        static_pipeline(resources_, "packed_chains",
                        std::array{cut.threads(), format_.kind, format_.bits, format_.group,
                                   cut.parts, cut.rows, cut.stage, right_vectors ? 1U : 0U,
                                   left_vectors ? 1U : 0U, activation_constant(operands.epilogue()),
                                   limits.known_driver ? 1U : 0U, cut.own_rows});
    const std::vector<vulkan::Range> reads = operands.reads(frame);
    const std::array writes{operands.result(frame)};
    // Very long sums go on in another dispatch from what is in the result.
    const std::int64_t groups = (operands.k() + group_numbers - 1) / group_numbers;
    const std::int64_t step =
        std::max<std::int64_t>(max_turns(resources_) / turns_of_groups, 1) * cut.parts;
    for (std::int64_t begin = 0; begin < groups; begin += step) {
        push.word[5] = static_cast<std::uint32_t>(begin);
        push.word[13] = static_cast<std::uint32_t>(std::min(begin + step, groups));
        recorder.dispatch(kernel, push, tiles, reads, writes);
    }
}

}  // namespace cambrian::gpu
