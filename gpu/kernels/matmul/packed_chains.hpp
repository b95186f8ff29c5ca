#pragma once

#include <cstdint>

#include "cambrian/gpu/kernels/matmul/operands.hpp"
#include "cambrian/gpu/kernels/matmul/packed_format.hpp"

namespace cambrian::gpu {

/// In fast math a packed product of at least so much k adds several chains
/// (shaders/packed/chains.glsl).
inline constexpr std::int64_t min_chained_depth = 1024;

/// The kernel for products of few rows with a matrix in codes, where sums have chains
/// (shaders/packed/packed_chains.comp).
class PackedChains {
  public:
    PackedChains(const KernelContext& context, const PackedFormat& format);

    void record(vulkan::Recorder& recorder, const Frame& frame, const MatmulOperands& operands,
                const MatmulOperands::Size& size) const;

  private:
    Resources& resources_;
    PackedFormat format_;
};

}  // namespace cambrian::gpu
