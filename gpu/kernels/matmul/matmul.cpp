#include <algorithm>
#include <array>
#include <vector>

#include "cambrian/gpu/execution/walk.hpp"
#include "cambrian/gpu/kernels/kernel_table.hpp"
#include "cambrian/gpu/kernels/matmul/few_rows.hpp"
#include "cambrian/gpu/kernels/matmul/operands.hpp"
#include "cambrian/gpu/kernels/matmul/tile_choice.hpp"

namespace cambrian::gpu {
namespace {

// As in shaders/matmul/matmul_tiles.glsl.
constexpr std::uint32_t load_along_rows = 1;
constexpr std::uint32_t load_vectors = 2;

// From here on FewRows is faster.
constexpr std::int64_t min_depth = 256;
constexpr std::int64_t min_columns = 256;
constexpr std::int64_t max_products = 64;

class MatmulKernel : public Kernel {
  public:
    explicit MatmulKernel(const KernelContext& context)
        : resources_(context.owner.resources()),
          operands_(context),
          few_rows_(context, plain_numbers) {}

    void record(vulkan::Recorder& recorder, const Frame& frame) const override {
        const MatmulOperands::Size size = operands_.size(frame);
        if (waits_for_memory(size)) {
            few_rows_.record(recorder, frame, operands_, size);
            return;
        }
        const MatmulTile& tile = tile_for(size, resources_.device.limits());
        vulkan::Push push = operands_.push(frame, size);
        const std::uint64_t groups = tile.direct()
                                         ? direct_groups(size, tile)
                                         : operands_.tiles(size, tile.rows, tile.columns, push);
        const std::vector<vulkan::Range> reads = operands_.reads(frame);
        const std::array writes{operands_.result(frame)};
        const vulkan::Pipeline& kernel = pipeline(tile, frame);
        if (!tile.direct()) {
            recorder.dispatch(kernel, push, groups, reads, writes);
            return;
        }
        // A long sum is cut into dispatches that go on from what is in the result.
        std::int64_t begin = 0;
        do {
            const std::int64_t end = std::min(begin + max_turns(resources_), operands_.k());
            push.word[3] = static_cast<std::uint32_t>(begin);
            push.word[4] = static_cast<std::uint32_t>(end);
            recorder.dispatch(kernel, push, groups, reads, writes);
            begin = end;
        } while (begin < operands_.k());
    }

  private:
    /// Whether one product of few rows has a matrix that is read as fast as memory gives it: too
    /// few tiles to fill a device wait for every load.
    [[nodiscard]] bool waits_for_memory(const MatmulOperands::Size& size) const {
        const auto& [transpose_left, transpose_right] = operands_.epilogue().product;
        return few_rows_.fits() && size.m <= FewRows::max_rows && transpose_right &&
               !transpose_left && operands_.matrices() == 1 && operands_.k() >= min_depth &&
               operands_.n() >= min_columns && size.individuals <= max_products &&
               !resources_.device.limits().software && resources_.matmul_tile.empty();
    }

    /// Where a device cannot loop over all of k in one dispatch, the kernel that can be cut.
    [[nodiscard]] const MatmulTile& tile_for(const MatmulOperands::Size& size,
                                             const vulkan::DeviceLimits& limits) const {
        if (operands_.k() > max_turns(resources_)) return matmul_tile("direct", limits);
        return resources_.matmul_tile.empty() ? choose_matmul_tile(size.m, operands_.n(), limits)
                                              : matmul_tile(resources_.matmul_tile, limits);
    }

    [[nodiscard]] std::uint64_t direct_groups(const MatmulOperands::Size& size,
                                              const MatmulTile& tile) const {
        return groups_for(size.individuals * operands_.matrices() * size.m * operands_.n(),
                          tile.threads());
    }

    [[nodiscard]] const vulkan::Pipeline& pipeline(const MatmulTile& tile,
                                                   const Frame& frame) const {
        const std::uint32_t activation = activation_constant(operands_.epilogue());
        if (tile.direct())
            return static_pipeline(resources_, "matmul_direct",
                                   std::array{tile.threads(), activation});
        const auto& [transpose_left, transpose_right] = operands_.epilogue().product;
        const std::array constants{tile.threads(),
                                   tile.rows,
                                   tile.columns,
                                   tile.depth,
                                   tile.thread_rows,
                                   tile.thread_columns,
                                   load_of(transpose_left, operands_.left_aligned(frame)),
                                   load_of(!transpose_right, operands_.right_aligned(frame)),
                                   activation};
        return static_pipeline(resources_, "matmul", constants);
    }

    /// How tiles of an operand are read: along the words that follow each other. A software device
    /// has one pipeline for every layout, because it compiles for longer than it computes.
    [[nodiscard]] std::uint32_t load_of(bool rows_follow, bool aligned) const {
        if (resources_.device.limits().software && resources_.matmul_tile.empty()) return 0;
        return (rows_follow ? load_along_rows : 0) | (aligned ? load_vectors : 0);
    }

    Resources& resources_;
    MatmulOperands operands_;
    FewRows few_rows_;
};

}  // namespace

std::unique_ptr<Kernel> make_matmul(const KernelContext& context) {
    if (context.result().shape.elements() == 0) return nullptr;
    if (context.node.op == Op::matmul_epilogue) {
        const auto& epilogue = context.attribute<MatmulEpilogueAttribute>();
        if (epilogue.codes) return make_cooperative_matmul(context);
        if (epilogue.packed) return make_packed_matmul(context);
    }
    return std::make_unique<MatmulKernel>(context);
}

}  // namespace cambrian::gpu
