#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <vector>

#include "cambrian/engine/graph/window_geometry.hpp"
#include "cambrian/gpu/execution/walk.hpp"
#include "cambrian/gpu/kernels/kernel_table.hpp"

namespace cambrian::gpu {
namespace {

/// Both ways between the planes of a value and the taps of windows over them; an invocation writes
/// one word. See shaders/movement/window.glsl.
class WindowKernel : public Kernel {
  public:
    /// @param whole the shape that the window slides over.
    WindowKernel(const KernelContext& context, const Shape& whole)
        : resources_(context.owner.resources()),
          op_(context.node.op),
          per_individual_(context.per_individual),
          operand_(context.operands[0]),
          result_(context.results[0]),
          operand_elements_(context.operand().shape.elements()),
          result_elements_(context.result().shape.elements()),
          outside_(context.attribute<Im2colAttribute>().padding == Padding::lowest
                       ? -std::numeric_limits<float>::infinity()
                       : 0.0F) {
        const Window& window = context.attribute<Im2colAttribute>().window;
        const WindowGeometry geometry = window_geometry(window, whole.extents());
        taps_ = geometry.taps();
        windows_ = geometry.windows();
        plane_ = geometry.elements();
        std::vector<std::uint32_t> words;
        for (std::size_t i = 0; i < static_cast<std::size_t>(window.rank); ++i) {
            const std::size_t axis = Window::max_rank - 1 - i;
            for (const auto* numbers : {&geometry.kernel, &geometry.positions, &geometry.inside,
                                        &geometry.stride, &geometry.dilation, &geometry.before})
                words.push_back(static_cast<std::uint32_t>((*numbers)[axis]));
        }
        axes_ = context.owner.table(words);
        pipeline_ = &static_pipeline(
            resources_, name(op_),
            std::array{plain_group_width(resources_), static_cast<std::uint32_t>(window.rank)});
    }

    void record(vulkan::Recorder& recorder, const Frame& frame) const override {
        vulkan::Push push = arguments(frame);
        if (op_ == Op::im2col) {
            push.word[7] = std::bit_cast<std::uint32_t>(outside_);
            dispatch(recorder, frame, push);
            return;
        }
        // Many taps are cut into dispatches that go on from what is in the result.
        const std::int64_t max_taps = max_turns(resources_);
        for (std::int64_t begin = 0; begin < taps_; begin += max_taps) {
            push.word[7] = static_cast<std::uint32_t>(begin);
            push.word[8] = static_cast<std::uint32_t>(std::min(begin + max_taps, taps_));
            dispatch(recorder, frame, push);
        }
    }

  private:
    [[nodiscard]] vulkan::Push arguments(const Frame& frame) const {
        const std::int64_t items = result_elements_ * (per_individual_ ? frame.population : 1);
        vulkan::Push push;
        push.address = {frame.address(result_), frame.address(operand_), frame.address(axes_)};
        const std::array words{items,    result_.stride, operand_.stride, result_elements_,
                               windows_, taps_,          plane_};
        std::ranges::transform(words, push.word.begin(),
                               [](std::int64_t w) { return static_cast<std::uint32_t>(w); });
        return push;
    }

    void dispatch(vulkan::Recorder& recorder, const Frame& frame, const vulkan::Push& push) const {
        const std::array reads{frame.range(operand_, operand_elements_)};
        const std::array writes{frame.range(result_, result_elements_)};
        recorder.dispatch(*pipeline_, push, groups_for(push.word[0], plain_group_width(resources_)),
                          reads, writes);
    }

    Resources& resources_;
    Op op_;
    bool per_individual_;
    BufferView operand_, result_, axes_;
    std::int64_t operand_elements_, result_elements_;
    float outside_;
    std::int64_t taps_ = 0, windows_ = 0, plane_ = 0;
    const vulkan::Pipeline* pipeline_ = nullptr;
};

}  // namespace

std::unique_ptr<Kernel> make_im2col(const KernelContext& context) {
    if (context.result().shape.elements() == 0) return nullptr;
    const bool reads = context.node.op == Op::im2col;
    return std::make_unique<WindowKernel>(context,
                                          reads ? context.operand().shape : context.result().shape);
}

}  // namespace cambrian::gpu
