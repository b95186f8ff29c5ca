#pragma once

#include <memory>
#include <vector>

#include "cambrian/engine/cpu/execution/nest.hpp"

namespace cambrian::cpu {

/// A strided copy from view 1 to view 0 of a nest.
struct Copy {
    Nest nest;
    Ref result;
    Ref operand;
};

/// Copies words, after zeroing `zeroed_elements` words of each individual at `zeroed`.
class CopyStep : public Step {
  public:
    explicit CopyStep(std::vector<Copy> copies, const Ref& zeroed = {},
                      std::int64_t zeroed_elements = 0)
        : copies_(std::move(copies)), zeroed_(zeroed), zeroed_elements_(zeroed_elements) {}

    void run(Frame& frame, std::int64_t count) const override;

  private:
    std::vector<Copy> copies_;
    Ref zeroed_;
    std::int64_t zeroed_elements_;
};

/// A copy of `elements` consecutive words for each individual.
[[nodiscard]] std::unique_ptr<Step> make_copy(const Ref& result, const Ref& operand,
                                              std::int64_t elements, bool per_individual);

}  // namespace cambrian::cpu
