#include <array>

#include "cambrian/gpu/execution/walk.hpp"
#include "cambrian/gpu/kernels/kernel_table.hpp"
#include "cambrian/gpu/kernels/matmul/few_rows.hpp"
#include "cambrian/gpu/kernels/matmul/operands.hpp"
#include "cambrian/gpu/kernels/matmul/packed_format.hpp"
#include "cambrian/gpu/kernels/matmul/tile_choice.hpp"

namespace cambrian::gpu {
namespace {

/// As in shaders/matmul/matmul_tiles.glsl.
constexpr std::uint32_t vector_loads = 2;

/// Products with a matrix that stays in its codes: those of few rows by the kernel that reads codes
/// ahead, others in tiles.
class PackedMatmulKernel : public Kernel {
  public:
    explicit PackedMatmulKernel(const KernelContext& context)
        : resources_(context.owner.resources()),
          operands_(context),
          format_(packed_format(context.attribute<PackedAttribute>().dtype)),
          few_rows_(context, format_) {}

    void record(vulkan::Recorder& recorder, const Frame& frame) const override {
        const MatmulOperands::Size size = operands_.size(frame);
        // A software device has one kernel for all, because it compiles for longer than it
        // computes.
        if (few_rows_.fits() &&
            (size.m <= FewRows::max_rows || resources_.device.limits().software ||
             operands_.k() > max_turns(resources_)))
            few_rows_.record(recorder, frame, operands_, size);
        else
            tiles(recorder, frame, size);
    }

  private:
    void tiles(vulkan::Recorder& recorder, const Frame& frame,
               const MatmulOperands::Size& size) const {
        const MatmulTile& tile = tile_for(size);
        vulkan::Push push = operands_.push(frame, size);
        const std::uint64_t groups = operands_.tiles(size, tile.rows, tile.columns, push);
        const std::array constants{tile.threads(),
                                   tile.rows,
                                   tile.columns,
                                   tile.depth,
                                   tile.thread_rows,
                                   tile.thread_columns,
                                   operands_.left_aligned(frame) ? vector_loads : 0U,
                                   0U,
                                   0U,
                                   format_.kind,
                                   format_.bits,
                                   format_.group};
        recorder.dispatch(static_pipeline(resources_, "matmul_packed", constants), push, groups,
                          operands_.reads(frame), std::array{operands_.result(frame)});
    }

    [[nodiscard]] const MatmulTile& tile_for(const MatmulOperands::Size& size) const {
        const vulkan::DeviceLimits& limits = resources_.device.limits();
        const MatmulTile& best = choose_matmul_tile(size.m, operands_.n(), limits);
        return best.direct() ? matmul_tile("32x32x16", limits) : best;
    }

    Resources& resources_;
    MatmulOperands operands_;
    PackedFormat format_;
    FewRows few_rows_;
};

}  // namespace

std::unique_ptr<Kernel> make_packed_matmul(const KernelContext& context) {
    if (context.result().shape.elements() == 0) return nullptr;
    return std::make_unique<PackedMatmulKernel>(context);
}

}  // namespace cambrian::gpu
