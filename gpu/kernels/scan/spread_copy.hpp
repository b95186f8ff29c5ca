#pragma once

#include <vector>

#include "cambrian/gpu/kernels/scan/row_kernel.hpp"

namespace cambrian::gpu {

/// The copy of the networks of a population that a RowSpread asks for, made anew in every run:
/// groups of RowSpread::individuals, and one more that those after the last whole group do not
/// fill. Instructions of the copy count weights from the first one of their network.
class SpreadCopy {
  public:
    /// @param weights_operand words of the operand of weights: of one individual, or of all that
    /// share it.
    SpreadCopy(const RowSpread& spread, const RowViews& views, std::int64_t weights_operand,
               CompiledGraph& owner);

    /// Where bytecodes of whole groups lie, weights of these, bytecodes of those left over, weights
    /// of these, the price of every network, and the sum of all.
    [[nodiscard]] BufferView entry(std::size_t index) const;
    [[nodiscard]] std::vector<vulkan::Range> ranges(const Frame& frame) const;
    /// @param priced whether prices are read.
    void record(vulkan::Recorder& recorder, const Frame& frame, bool priced) const;

  private:
    [[nodiscard]] std::int64_t words() const {
        return spread_.bytecode_words + spread_.weight_words;
    }

    RowSpread spread_;
    BufferView bytecode_;
    BufferView weights_;
    std::int64_t weights_operand_;
    BufferView groups_;
    BufferView rest_;
    BufferView prices_;  ///< About the work of a row of each network.
    BufferView total_;
    const vulkan::Pipeline* pipeline_;
};

}  // namespace cambrian::gpu
