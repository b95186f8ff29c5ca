#pragma once

#include <cstdint>

#include "cambrian/gpu/kernels/matmul/operands.hpp"
#include "cambrian/gpu/kernels/matmul/packed_format.hpp"

namespace cambrian::gpu {

/// The kernel for products of at most so many rows with the rows of a matrix
/// (shaders/matmul/matmul_few_rows.comp).
class FewRows {
  public:
    static constexpr std::int64_t max_rows = 8;

    /// @param format of the matrix.
    FewRows(const KernelContext& context, const PackedFormat& format);

    /// Whether the device can run it.
    [[nodiscard]] bool fits() const;

    void record(vulkan::Recorder& recorder, const Frame& frame, const MatmulOperands& operands,
                const MatmulOperands::Size& size) const;

  private:
    Resources& resources_;
    PackedFormat format_;
    std::uint32_t depth_;
};

}  // namespace cambrian::gpu
