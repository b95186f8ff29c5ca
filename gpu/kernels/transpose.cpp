#include "cambrian/gpu/kernels/kernel_table.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "cambrian/gpu/execution/walk.hpp"

namespace cambrian::gpu {
namespace {

constexpr std::int64_t side = 32;
constexpr std::int64_t thinnest = 8;

class TransposeKernel : public Kernel {
  public:
    /// @param down the axis of the nest that is contiguous in the operand.
    TransposeKernel(const KernelContext& context, const Nest& nest, int down)
        : per_individual_(context.per_individual),
          result_(context.results[0]),
          operand_(context.operands[0]),
          result_elements_(context.result().shape.elements()),
          operand_elements_(context.operand().shape.elements()),
          width_(plain_group_width(context.owner.resources())),
          across_(nest.inner()),
          down_(nest.axes[static_cast<std::size_t>(down)]),
          pipeline_(static_pipeline(context.owner.resources(), "transpose", std::array{width_})) {
        std::vector<std::uint32_t> words;
        for (int axis = nest.axis_count - 2; axis >= 0; --axis) {
            if (axis == down) continue;
            const Nest::Axis& other = nest.axes[static_cast<std::size_t>(axis)];
            ++others_;
            tiles_of_others_ *= other.extent;
            for (const std::int64_t word : {other.extent, other.strides[0], other.strides[1]})
                words.push_back(static_cast<std::uint32_t>(word));
        }
        if (others_ > 0) table_ = context.owner.table(words);
    }

    void record(vulkan::Recorder& recorder, const Frame& frame) const override {
        const std::int64_t tiles_across = (across_.extent + side - 1) / side;
        const std::int64_t tiles_down = (down_.extent + side - 1) / side;
        vulkan::Push push;
        push.address[0] = frame.address(result_);
        push.address[1] = frame.address(operand_);
        if (others_ > 0) push.address[table_address] = frame.address(table_);
        const std::array<std::int64_t, 7> words{across_.extent,  down_.extent, tiles_across,
                                                tiles_down,      others_,      across_.strides[1],
                                                down_.strides[0]};
        std::ranges::transform(words, push.word.begin(),
                               [](std::int64_t w) { return static_cast<std::uint32_t>(w); });
        const std::int64_t count = per_individual_ ? frame.population : 1;
        const std::array reads{frame.range(operand_, operand_elements_)};
        const std::array writes{frame.range(result_, result_elements_)};
        recorder.dispatch(
            pipeline_, push,
            static_cast<std::uint64_t>(tiles_across * tiles_down * tiles_of_others_ * count), reads,
            writes);
    }

  private:
    bool per_individual_;
    BufferView result_, operand_, table_{};
    std::int64_t result_elements_, operand_elements_;
    std::uint32_t width_;
    Nest::Axis across_, down_;
    std::int64_t others_ = 0;
    std::int64_t tiles_of_others_ = 1;
    const vulkan::Pipeline& pipeline_;
};

}  // namespace

std::unique_ptr<Kernel> make_transpose(const KernelContext& context, const Nest& nest) {
    const Nest::Axis& across = nest.inner();
    if (nest.empty || across.strides[0] != 1 || across.strides[1] <= 1) return nullptr;
    // The first axis counts individuals, so that its extent is only known in a run.
    const int first = context.per_individual ? 1 : 0;
    for (int axis = first; axis + 1 < nest.axis_count; ++axis) {
        const Nest::Axis& down = nest.axes[static_cast<std::size_t>(axis)];
        if (down.strides[1] == 1 && std::min(down.extent, across.extent) >= thinnest)
            return std::make_unique<TransposeKernel>(context, nest, axis);
    }
    return nullptr;
}

}  // namespace cambrian::gpu
