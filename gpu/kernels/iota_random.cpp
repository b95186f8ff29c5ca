#include <algorithm>
#include <array>

#include "cambrian/gpu/execution/walk.hpp"
#include "cambrian/gpu/kernels/kernel_table.hpp"

namespace cambrian::gpu {
namespace {

class IotaKernel : public Kernel {
  public:
    explicit IotaKernel(const KernelContext& context)
        : result_(context.results[0]),
          length_(context.result().shape.elements()),
          width_(plain_group_width(context.owner.resources())),
          pipeline_(static_pipeline(context.owner.resources(), "iota", std::array{width_})) {}

    void record(vulkan::Recorder& recorder, const Frame& frame) const override {
        if (length_ == 0) return;
        vulkan::Push push;
        push.address[0] = frame.address(result_);
        push.word[0] = static_cast<std::uint32_t>(length_);
        const std::array writes{frame.range(result_, length_)};
        recorder.dispatch(pipeline_, push, groups_for(length_, width_), {}, writes);
    }

  private:
    BufferView result_;
    std::int64_t length_;
    std::uint32_t width_;
    const vulkan::Pipeline& pipeline_;
};

class RandomKernel : public Kernel {
  public:
    explicit RandomKernel(const KernelContext& context)
        : per_individual_(context.per_individual),
          key_(context.operands[0]),
          ids_(context.operands[1]),
          result_(context.results[0]),
          count_(context.operand(1).shape.elements()),
          draws_(context.attribute<LengthAttribute>().length),
          width_(plain_group_width(context.owner.resources())),
          pipeline_(static_pipeline(context.owner.resources(), "random", std::array{width_})) {}

    void record(vulkan::Recorder& recorder, const Frame& frame) const override {
        constexpr std::int64_t block = 4;
        const std::int64_t blocks = (draws_ + block - 1) / block;
        const std::int64_t items = (per_individual_ ? frame.population : 1) * count_ * blocks;
        if (items == 0) return;
        vulkan::Push push;
        push.address = {frame.address(result_), frame.address(key_), frame.address(ids_)};
        const std::array words{items,          count_,      draws_,     blocks,
                               result_.stride, key_.stride, ids_.stride};
        std::ranges::transform(words, push.word.begin(),
                               [](std::int64_t w) { return static_cast<std::uint32_t>(w); });
        const std::array reads{frame.range(key_, 2), frame.range(ids_, count_)};
        const std::array writes{frame.range(result_, count_ * draws_)};
        recorder.dispatch(pipeline_, push, groups_for(items, width_), reads, writes);
    }

  private:
    bool per_individual_;
    BufferView key_, ids_, result_;
    std::int64_t count_, draws_;
    std::uint32_t width_;
    const vulkan::Pipeline& pipeline_;
};

}  // namespace

std::unique_ptr<Kernel> make_iota(const KernelContext& context) {
    return std::make_unique<IotaKernel>(context);
}

std::unique_ptr<Kernel> make_random(const KernelContext& context) {
    return std::make_unique<RandomKernel>(context);
}

}  // namespace cambrian::gpu
