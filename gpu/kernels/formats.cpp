#include <algorithm>
#include <array>

#include "cambrian/gpu/kernels/walk.hpp"

namespace cambrian::gpu {
namespace {

/// Rows of words to rows of words, one invocation for each word of the result.
class FormatStep : public Step {
  public:
    FormatStep(const Site& site, std::string_view shader)
        : per_individual_(site.per_individual),
          operand_(site.operands[0]),
          result_(site.results[0]),
          operand_elements_(site.operand(0).shape.elements()),
          result_elements_(site.result().shape.elements()),
          from_(site.operand(0).shape[-1]),
          to_(site.result().shape[-1]),
          width_(plain_group_width(site.owner.resources())),
          pipeline_(static_pipeline(
              site.owner.resources(), shader,
              std::array{width_,
                         static_cast<std::uint32_t>(site.attribute<FormatAttribute>().format)})) {}

    void record(vulkan::Recorder& recorder, const Frame& frame) const override {
        const std::int64_t items = result_elements_ * (per_individual_ ? frame.population : 1);
        if (items == 0) return;
        vulkan::Push push;
        push.address = {frame.address(result_), frame.address(operand_)};
        const std::array words{items,          to_, from_, result_elements_ / to_, result_.stride,
                               operand_.stride};
        std::ranges::transform(words, push.word.begin(),
                               [](std::int64_t w) { return static_cast<std::uint32_t>(w); });
        const std::array reads{frame.range(operand_, operand_elements_)};
        const std::array writes{frame.range(result_, result_elements_)};
        recorder.dispatch(pipeline_, push, groups_for(items, width_), reads, writes);
    }

  private:
    bool per_individual_;
    Place operand_, result_;
    std::int64_t operand_elements_, result_elements_, from_, to_;
    std::uint32_t width_;
    const vulkan::Pipeline& pipeline_;
};

}  // namespace

std::unique_ptr<Step> make_encode(const Site& site) {
    return std::make_unique<FormatStep>(site, "encode");
}

std::unique_ptr<Step> make_decode(const Site& site) {
    return std::make_unique<FormatStep>(site, "decode");
}

}  // namespace cambrian::gpu
