#include <array>

#include "cambrian/gpu/execution/walk.hpp"
#include "cambrian/gpu/kernels/kernel_table.hpp"

namespace cambrian::gpu {
namespace {

class DivisorCheck : public Kernel {
  public:
    explicit DivisorCheck(const KernelContext& context)
        : divisors_(context.operands[1]),
          status_(context.owner.status()),
          per_individual_(context.operands[1].stride != 0),
          elements_(context.operand(1).shape.elements()),
          width_(plain_group_width(context.owner.resources())),
          pipeline_(
              static_pipeline(context.owner.resources(), "check_divisors", std::array{width_})) {}

    void record(vulkan::Recorder& recorder, const Frame& frame) const override {
        const std::int64_t items = elements_ * (per_individual_ ? frame.population : 1);
        if (items == 0) return;
        vulkan::Push push;
        push.address = {frame.address(divisors_), frame.address(status_)};
        push.word = {static_cast<std::uint32_t>(items), static_cast<std::uint32_t>(elements_),
                     static_cast<std::uint32_t>(divisors_.stride),
                     static_cast<std::uint32_t>(DataError::division_by_zero)};
        const std::array reads{frame.range(divisors_, elements_)};
        recorder.dispatch(pipeline_, push, groups_for(items, width_), reads, {});
    }

  private:
    BufferView divisors_, status_;
    bool per_individual_;
    std::int64_t elements_;
    std::uint32_t width_;
    const vulkan::Pipeline& pipeline_;
};

}  // namespace

std::unique_ptr<Kernel> make_divisor_check(const KernelContext& context) {
    return std::make_unique<DivisorCheck>(context);
}

}  // namespace cambrian::gpu
