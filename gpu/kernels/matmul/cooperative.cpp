#include <array>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/gpu/kernels/kernel_table.hpp"
#include "cambrian/gpu/kernels/matmul/operands.hpp"
#include "cambrian/gpu/kernels/matmul/tile_choice.hpp"

namespace cambrian::gpu {
namespace {

// As in shaders/matmul/matmul_cooperative_tiles.glsl.
constexpr std::uint32_t load_along_k = 1;
constexpr std::uint32_t load_code_vectors = 2;

/// A product with an epilogue whose operands are f16 codes, by the device's matrix units.
class CooperativeMatmulKernel : public Kernel {
  public:
    explicit CooperativeMatmulKernel(const KernelContext& context)
        : resources_(context.owner.resources()), operands_(context) {
        CAMBRIAN_EXPECT(multiplies_codes(operands_.epilogue().codes->format, resources_));
    }

    void record(vulkan::Recorder& recorder, const Frame& frame) const override {
        const MatmulOperands::Size size = operands_.size(frame);
        const vulkan::DeviceLimits& limits = resources_.device.limits();
        const CooperativeTile& tile = resources_.matmul_tile.empty()
                                          ? choose_cooperative_tile(size.m, operands_.n(), limits)
                                          : cooperative_tile(resources_.matmul_tile, limits);
        vulkan::Push push = operands_.push(frame, size);
        const std::uint64_t groups = operands_.tiles(size, tile.rows, tile.columns, push);
        const std::array writes{operands_.result(frame)};
        recorder.dispatch(pipeline(tile, frame), push, groups, operands_.reads(frame), writes);
    }

  private:
    [[nodiscard]] const vulkan::Pipeline& pipeline(const CooperativeTile& tile,
                                                   const Frame& frame) const {
        const MatmulEpilogueAttribute& epilogue = operands_.epilogue();
        const ProductCodes& codes = *epilogue.codes;
        const std::array constants{
            tile.threads(),
            tile.rows,
            tile.columns,
            tile.depth,
            tile.part_rows,
            tile.part_columns,
            load_of(!epilogue.product.transpose_left,
                    codes.left_length % vector_codes == 0 && operands_.left_aligned(frame)),
            load_of(epilogue.product.transpose_right,
                    codes.right_length % vector_codes == 0 && operands_.right_aligned(frame)),
            activation_constant(epilogue),
            codes.result ? 1U : 0U,
            tile.stages};
        return static_pipeline(resources_, "matmul_cooperative", constants);
    }

    [[nodiscard]] static std::uint32_t load_of(bool along_k, bool aligned) {
        return (along_k ? load_along_k : 0) | (aligned ? load_code_vectors : 0);
    }

    Resources& resources_;
    MatmulOperands operands_;
};

}  // namespace

bool multiplies_codes(NumberFormat format, const Resources& resources) {
    return format == NumberFormat::f16 && resources.math == Math::fast &&
           resources.device.limits().cooperative_matrix;
}

std::unique_ptr<Kernel> make_cooperative_matmul(const KernelContext& context) {
    return std::make_unique<CooperativeMatmulKernel>(context);
}

}  // namespace cambrian::gpu
