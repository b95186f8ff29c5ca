#include <algorithm>
#include <array>

#include "cambrian/engine/tensor/shape.hpp"
#include "cambrian/gpu/execution/walk.hpp"
#include "cambrian/gpu/kernels/kernel_table.hpp"

namespace cambrian::gpu {
namespace {

/// One invocation for each element of the result.
class AlongKernel : public Kernel {
  public:
    AlongKernel(const KernelContext& context, int axis, std::string_view shader)
        : per_individual_(context.per_individual),
          result_(context.results[0]),
          operand_(context.operands[0]),
          split_(context.result().shape, axis),
          operand_elements_(context.operand(0).shape.elements()),
          width_(plain_group_width(context.owner.resources())),
          pipeline_(static_pipeline(context.owner.resources(), shader, std::array{width_})) {}

  protected:
    [[nodiscard]] std::int64_t items(const Frame& frame) const {
        return split_.elements() * (per_individual_ ? frame.population : 1);
    }
    void dispatch(vulkan::Recorder& recorder, const Frame& frame, vulkan::Push& push,
                  std::span<const std::int64_t> words, std::span<const vulkan::Range> reads) const {
        push.address[0] = frame.address(result_);
        push.address[1] = frame.address(operand_);
        std::ranges::transform(words, push.word.begin(),
                               [](std::int64_t w) { return static_cast<std::uint32_t>(w); });
        const std::array writes{frame.range(result_, split_.elements())};
        recorder.dispatch(pipeline_, push, groups_for(items(frame), width_), reads, writes);
    }

    bool per_individual_;
    BufferView result_, operand_;
    AxisSplit split_;
    std::int64_t operand_elements_;

  private:
    std::uint32_t width_;
    const vulkan::Pipeline& pipeline_;
};

class FlipKernel : public AlongKernel {
  public:
    explicit FlipKernel(const KernelContext& context)
        : AlongKernel(context, context.attribute<AxisAttribute>().axis, "flip") {}

    void record(vulkan::Recorder& recorder, const Frame& frame) const override {
        vulkan::Push push;
        const std::array words{items(frame), split_.inner,   split_.length,
                               split_.outer, result_.stride, operand_.stride};
        const std::array reads{frame.range(operand_, operand_elements_)};
        dispatch(recorder, frame, push, words, reads);
    }
};

class TakeAlongAxisKernel : public AlongKernel {
  public:
    explicit TakeAlongAxisKernel(const KernelContext& context)
        : AlongKernel(context, context.attribute<AxisAttribute>().axis, "take_along_axis"),
          indices_(context.operands[1]),
          status_(context.owner.status()),
          extent_(context.operand(0).shape[context.attribute<AxisAttribute>().axis]) {}

    void record(vulkan::Recorder& recorder, const Frame& frame) const override {
        vulkan::Push push;
        push.address[2] = frame.address(indices_);
        push.address[3] = frame.address(status_);
        const std::array words{
            items(frame),   split_.inner,
            split_.length,  split_.outer,
            extent_,        static_cast<std::int64_t>(DataError::take_along_axis_out_of_range),
            result_.stride, operand_.stride,
            indices_.stride};
        // The status words are exchanged atomically and read when all is done.
        const std::array reads{frame.range(operand_, operand_elements_),
                               frame.range(indices_, split_.elements())};
        dispatch(recorder, frame, push, words, reads);
    }

  private:
    BufferView indices_, status_;
    std::int64_t extent_;
};

}  // namespace

std::unique_ptr<Kernel> make_flip(const KernelContext& context) {
    return std::make_unique<FlipKernel>(context);
}

std::unique_ptr<Kernel> make_take_along_axis(const KernelContext& context) {
    return std::make_unique<TakeAlongAxisKernel>(context);
}

}  // namespace cambrian::gpu
