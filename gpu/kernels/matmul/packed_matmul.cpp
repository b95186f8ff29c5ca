#include <array>

#include "cambrian/gpu/execution/walk.hpp"
#include "cambrian/gpu/kernels/kernel_table.hpp"
#include "cambrian/gpu/kernels/matmul/few_rows.hpp"
#include "cambrian/gpu/kernels/matmul/operands.hpp"
#include "cambrian/gpu/kernels/matmul/packed_chains.hpp"
#include "cambrian/gpu/kernels/matmul/packed_format.hpp"
#include "cambrian/gpu/kernels/matmul/tile_choice.hpp"

namespace cambrian::gpu {
namespace {

/// As in shaders/matmul/matmul_tiles.glsl.
constexpr std::uint32_t loads_along_rows = 1;
constexpr std::uint32_t vector_loads = 2;

/// Products with a matrix that stays in its codes: those of few rows by kernels that read codes
/// ahead, others in tiles.
class PackedMatmulKernel : public Kernel {
  public:
    explicit PackedMatmulKernel(const KernelContext& context)
        : resources_(context.owner.resources()),
          operands_(context),
          format_(packed_format(*operands_.epilogue().packed)),
          few_rows_(context, format_),
          chains_(context, format_),
          in_chains_(resources_.math == Math::fast && operands_.k() >= min_chained_depth) {}

    void record(vulkan::Recorder& recorder, const Frame& frame) const override {
        const MatmulOperands::Size size = operands_.size(frame);
        // A software device has no tiles, because it compiles for longer than it computes.
        const bool is_few =
            !is_transposed() &&
            (operands_.k() > max_turns(resources_) ||
             (resources_.matmul_tile.empty() &&
              (size.m <= FewRows::max_rows || resources_.device.limits().software)));
        if (is_few && in_chains_)
            chains_.record(recorder, frame, operands_, size);
        else if (is_few && few_rows_.fits())
            few_rows_.record(recorder, frame, operands_, size);
        else
            tiles(recorder, frame, size);
    }

  private:
    /// Of x, as of convolutions: only tiles read that.
    [[nodiscard]] bool is_transposed() const { return operands_.epilogue().product.transpose_left; }

    /// How tiles of x are read. A software device has one pipeline for every layout, because it
    /// compiles for longer than it computes.
    [[nodiscard]] std::uint32_t left_load(const Frame& frame) const {
        if (resources_.device.limits().software && resources_.matmul_tile.empty()) return 0;
        return (is_transposed() ? loads_along_rows : 0U) |
               (operands_.left_aligned(frame) ? vector_loads : 0U);
    }

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
                                   left_load(frame),
                                   0U,
                                   activation_constant(operands_.epilogue()),
                                   format_.kind,
                                   format_.bits,
                                   format_.group,
                                   in_chains_ ? 1U : 0U};
        recorder.dispatch(static_pipeline(resources_, "matmul_packed", constants), push, groups,
                          operands_.reads(frame), std::array{operands_.result(frame)});
    }

    [[nodiscard]] const MatmulTile& tile_for(const MatmulOperands::Size& size) const {
        const vulkan::DeviceLimits& limits = resources_.device.limits();
        const MatmulTile& best = resources_.matmul_tile.empty()
                                     ? choose_matmul_tile(size.m, operands_.n(), limits)
                                     : matmul_tile(resources_.matmul_tile, limits);
        return best.direct() ? matmul_tile("32x32x16", limits) : best;
    }

    Resources& resources_;
    MatmulOperands operands_;
    PackedFormat format_;
    FewRows few_rows_;
    PackedChains chains_;
    bool in_chains_;
};

}  // namespace

std::unique_ptr<Kernel> make_packed_matmul(const KernelContext& context) {
    if (context.result().shape.elements() == 0) return nullptr;
    return std::make_unique<PackedMatmulKernel>(context);
}

}  // namespace cambrian::gpu
