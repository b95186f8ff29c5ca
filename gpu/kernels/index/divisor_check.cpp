#include <array>

#include "cambrian/gpu/kernels/walk.hpp"

namespace cambrian::gpu {
namespace {

class DivisorCheck : public Step {
  public:
    explicit DivisorCheck(const Site& site)
        : divisors_(site.operands[1]),
          status_(site.owner.status()),
          per_individual_(site.operands[1].stride != 0),
          elements_(site.operand(1).shape.elements()),
          width_(plain_group_width(site.owner.resources())),
          pipeline_(static_pipeline(site.owner.resources(), "check_divisors", std::array{width_})) {
    }

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
    Place divisors_, status_;
    bool per_individual_;
    std::int64_t elements_;
    std::uint32_t width_;
    const vulkan::Pipeline& pipeline_;
};

}  // namespace

std::unique_ptr<Step> make_divisor_check(const Site& site) {
    return std::make_unique<DivisorCheck>(site);
}

}  // namespace cambrian::gpu
