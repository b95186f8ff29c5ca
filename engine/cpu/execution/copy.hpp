#pragma once

#include <memory>
#include <vector>

#include "cambrian/engine/cpu/execution/nest.hpp"

namespace cambrian::cpu {

/// A strided copy from view 1 to view 0 of a nest.
struct Copy {
    Nest nest;
    BufferView result;
    BufferView operand;
};

/// Copies words, after zeroing `zeroed_elements` words of each individual at `zeroed`.
class CopyKernel : public Kernel {
  public:
    explicit CopyKernel(std::vector<Copy> copies, const BufferView& zeroed = {},
                        std::int64_t zeroed_elements = 0)
        : copies_(std::move(copies)), zeroed_(zeroed), zeroed_elements_(zeroed_elements) {}

    void run(Frame& frame, std::int64_t count) const override;

  private:
    std::vector<Copy> copies_;
    BufferView zeroed_;
    std::int64_t zeroed_elements_;
};

/// A copy of `elements` consecutive words for each individual.
[[nodiscard]] std::unique_ptr<Kernel> make_copy(const BufferView& result, const BufferView& operand,
                                                std::int64_t elements, bool per_individual);

}  // namespace cambrian::cpu
