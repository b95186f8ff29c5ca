#include <vector>

#include "cambrian/gpu/kernels/kernel_table.hpp"
#include "cambrian/gpu/kernels/scan/selective_scan_dispatch.hpp"

namespace cambrian::gpu {
namespace {

using Kind = SelectiveScanDispatch::Kind;
using View = SelectiveScanDispatch::View;
using Views = SelectiveScanDispatch::Views;

// Operands of the op, in its order.
constexpr std::size_t operand_log_decay = 2;
constexpr std::size_t operand_b = 3;
constexpr std::size_t operand_c = 4;
constexpr std::size_t operand_skip = 5;
constexpr std::size_t operand_state = 6;
constexpr std::size_t operand_upstream = 7;
constexpr std::size_t operand_end_upstream = 8;
// Views of the kernels, as in the shaders; those before are the operands.
constexpr std::size_t view_state = 6;
constexpr std::size_t view_first_result = 7;
constexpr std::size_t view_kept = 8;  // Of a walk forward.
constexpr std::size_t view_upstream = 8;
constexpr std::size_t view_u_gradient = 9;
constexpr std::size_t view_raw_gradient = 10;
constexpr std::size_t view_state_gradient = 11;

View operand(const KernelContext& context, std::size_t index) {
    return {context.operands[index], context.operand(index).shape.elements(), false};
}

View result(const KernelContext& context, std::size_t index) {
    return {context.results[index], context.result(index).shape.elements(), true};
}

Views operand_views(const KernelContext& context) {
    Views views;
    for (std::size_t i = 0; i <= operand_state; ++i) views[i] = operand(context, i);
    return views;
}

std::int64_t tiles_of(const KernelContext& context) {
    const SelectiveScanSizes sizes(context);
    const std::int64_t steps = choose_selective_scan_tile(sizes.states).steps;
    return (sizes.steps + steps - 1) / steps;
}

class SelectiveScanKernel : public Kernel {
  public:
    explicit SelectiveScanKernel(const KernelContext& context)
        : dispatch_(context, Kind::forward, views(context), tiles_of(context)) {}

    void record(vulkan::Recorder& recorder, const Frame& frame) const override {
        dispatch_.record(recorder, frame);
    }

  private:
    static Views views(const KernelContext& context) {
        Views views = operand_views(context);
        views[view_first_result] = result(context, 0);
        views[view_kept] = result(context, 1);
        return views;
    }

    SelectiveScanDispatch dispatch_;
};

/// What the kernels of the gradient hand to each other (shaders/scan/selective_scan_gradient.comp),
/// in words of one individual.
struct Between {
    std::int64_t starts = 0;
    std::int64_t channel_groups = 0;
    std::int64_t weights = 0;  ///< Of the part of a channel group in the gradient of b, or of c.
    std::int64_t words = 0;

    explicit Between(const KernelContext& context) {
        const SelectiveScanSizes sizes(context);
        const std::int64_t channels = choose_selective_scan_tile(sizes.states).channels();
        const std::int64_t state = sizes.sequences * sizes.channels * sizes.states;
        channel_groups = (sizes.channels + channels - 1) / channels;
        starts = tiles_of(context) * state;
        weights = sizes.sequences * sizes.steps * sizes.states;
        words = starts + 2 * channel_groups * weights + state + sizes.sequences * sizes.channels;
    }
};

/// The states before every tile of steps, the walk back from tile to tile, and sums of its parts.
class SelectiveScanGradientKernel : public Kernel {
  public:
    explicit SelectiveScanGradientKernel(const KernelContext& context)
        : between_(context),
          buffer_(context.owner.reserve(between_.words, context.per_individual)),
          // The last tile is walked by the gradient alone.
          starts_(context, Kind::starts, start_views(context), tiles_of(context) - 1),
          walk_(context, Kind::gradient, walk_views(context), tiles_of(context)) {
        const SelectiveScanSizes sizes(context);
        std::int64_t offset = between_.starts;
        const auto add = [&](std::size_t index, std::int64_t parts, std::int64_t words) {
            BufferView from = buffer_;
            from.offset += offset;
            offset += parts * words;
            sums_.push_back(make_column_sums(context.owner, context.per_individual,
                                             {from, context.results[index], parts, words}));
        };
        add(operand_b, between_.channel_groups, between_.weights);
        add(operand_c, between_.channel_groups, between_.weights);
        add(operand_log_decay, sizes.sequences, sizes.channels * sizes.states);
        add(operand_skip, sizes.sequences, sizes.channels);
    }

    void record(vulkan::Recorder& recorder, const Frame& frame) const override {
        starts_.record(recorder, frame);
        walk_.record(recorder, frame);
        for (const auto& sum : sums_) sum->record(recorder, frame);
    }

  private:
    [[nodiscard]] Views start_views(const KernelContext& context) const {
        Views views = operand_views(context);
        views[view_kept] = {buffer_, between_.starts, true};
        return views;
    }

    [[nodiscard]] Views walk_views(const KernelContext& context) const {
        Views views = operand_views(context);
        views[view_state] = operand(context, operand_end_upstream);
        views[view_first_result] = {buffer_, between_.words, true};
        views[view_upstream] = operand(context, operand_upstream);
        views[view_u_gradient] = result(context, 0);
        views[view_raw_gradient] = result(context, 1);
        views[view_state_gradient] = result(context, operand_state);
        return views;
    }

    Between between_;
    BufferView buffer_;
    SelectiveScanDispatch starts_;
    SelectiveScanDispatch walk_;
    std::vector<std::unique_ptr<Kernel>> sums_;
};

}  // namespace

std::unique_ptr<Kernel> make_selective_scan(const KernelContext& context) {
    return std::make_unique<SelectiveScanKernel>(context);
}

std::unique_ptr<Kernel> make_selective_scan_gradient(const KernelContext& context) {
    return std::make_unique<SelectiveScanGradientKernel>(context);
}

}  // namespace cambrian::gpu
