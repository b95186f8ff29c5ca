#pragma once

#include <cstddef>

#include "cambrian/engine/cpu/execution/kernel_table.hpp"
#include "cambrian/engine/cpu/gemm/packed_rows.hpp"

namespace cambrian::cpu {

/// Where the parts of a packed matrix lie that is an operand of a node.
class PackedOperand {
  public:
    /// @param first operand that is its words.
    PackedOperand(const KernelContext& context, const PackedAttribute& packed, std::size_t first)
        : packed_(packed), words_(context.operands[first]) {
        const DtypeRow& format = row(packed_.dtype);
        if (format.group != ScaleGroup::none) scales_ = context.operands[first + 1];
        if (format.affine) zero_points_ = context.operands[first + 2];
    }

    [[nodiscard]] const PackedAttribute& packed() const { return packed_; }
    [[nodiscard]] bool shared() const {
        return words_.stride == 0 && scales_.stride == 0 && zero_points_.stride == 0;
    }
    [[nodiscard]] PackedRows rows(const Frame& frame, std::int64_t individual) const {
        const DtypeRow& format = row(packed_.dtype);
        const auto codes = [&](const BufferView& view) {
            return frame.at<std::uint32_t>(view) + individual * view.stride;
        };
        PackedRows rows{.words = codes(words_)};
        if (format.group != ScaleGroup::none)
            rows.scales = frame.at<float>(scales_) + individual * scales_.stride;
        if (format.affine) rows.zero_points = codes(zero_points_);
        return rows;
    }

  private:
    PackedAttribute packed_;
    BufferView words_, scales_, zero_points_;
};

}  // namespace cambrian::cpu
