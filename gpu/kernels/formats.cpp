#include <algorithm>
#include <array>

#include "cambrian/gpu/execution/walk.hpp"
#include "cambrian/gpu/kernels/kernel_table.hpp"

namespace cambrian::gpu {
namespace {

/// Rows of words to rows of words, one invocation for each word of the result.
class FormatKernel : public Kernel {
  public:
    FormatKernel(const KernelContext& context, std::string_view shader)
        : per_individual_(context.per_individual),
          operand_(context.operands[0]),
          result_(context.results[0]),
          operand_elements_(context.operand(0).shape.elements()),
          result_elements_(context.result().shape.elements()),
          from_(context.operand(0).shape[-1]),
          to_(context.result().shape[-1]),
          width_(plain_group_width(context.owner.resources())),
          pipeline_(static_pipeline(
              context.owner.resources(), shader,
              std::array{width_, static_cast<std::uint32_t>(
                                     context.attribute<FormatAttribute>().format)})) {}

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
    BufferView operand_, result_;
    std::int64_t operand_elements_, result_elements_, from_, to_;
    std::uint32_t width_;
    const vulkan::Pipeline& pipeline_;
};

}  // namespace

std::unique_ptr<Kernel> make_encode(const KernelContext& context) {
    return std::make_unique<FormatKernel>(context, "encode");
}

std::unique_ptr<Kernel> make_decode(const KernelContext& context) {
    return std::make_unique<FormatKernel>(context, "decode");
}

}  // namespace cambrian::gpu
