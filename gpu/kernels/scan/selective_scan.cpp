#include <vector>

#include "cambrian/gpu/kernels/reduce/reduce.hpp"
#include "cambrian/gpu/kernels/scan/selective_scan_kernel.hpp"

namespace cambrian::gpu {
namespace {

using Kind = SelectiveScanKernel::Kind;
using View = SelectiveScanKernel::View;
using Views = SelectiveScanKernel::Views;

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

View operand(const Site& site, std::size_t index) {
    return {site.operands[index], site.operand(index).shape.elements(), false};
}

View result(const Site& site, std::size_t index) {
    return {site.results[index], site.result(index).shape.elements(), true};
}

Views operand_views(const Site& site) {
    Views views;
    for (std::size_t i = 0; i <= operand_state; ++i) views[i] = operand(site, i);
    return views;
}

std::int64_t tiles_of(const Site& site) {
    const SelectiveScanSizes sizes(site);
    const std::int64_t steps = choose_selective_scan_tile(sizes.states).steps;
    return (sizes.steps + steps - 1) / steps;
}

class SelectiveScanStep : public Step {
  public:
    explicit SelectiveScanStep(const Site& site)
        : kernel_(site, Kind::forward, views(site), tiles_of(site)) {}

    void record(vulkan::Recorder& recorder, const Frame& frame) const override {
        kernel_.record(recorder, frame);
    }

  private:
    static Views views(const Site& site) {
        Views views = operand_views(site);
        views[view_first_result] = result(site, 0);
        views[view_kept] = result(site, 1);
        return views;
    }

    SelectiveScanKernel kernel_;
};

/// What the kernels of the gradient hand to each other (shaders/selective_scan_gradient.comp), in
/// words of one individual.
struct Between {
    std::int64_t starts = 0;
    std::int64_t channel_groups = 0;
    std::int64_t weights = 0;  ///< Of the part of a channel group in the gradient of b, or of c.
    std::int64_t words = 0;

    explicit Between(const Site& site) {
        const SelectiveScanSizes sizes(site);
        const std::int64_t channels = choose_selective_scan_tile(sizes.states).channels();
        const std::int64_t state = sizes.sequences * sizes.channels * sizes.states;
        channel_groups = (sizes.channels + channels - 1) / channels;
        starts = tiles_of(site) * state;
        weights = sizes.sequences * sizes.steps * sizes.states;
        words = starts + 2 * channel_groups * weights + state + sizes.sequences * sizes.channels;
    }
};

/// The states before every tile of steps, the walk back from tile to tile, and sums of its parts.
class SelectiveScanGradientStep : public Step {
  public:
    explicit SelectiveScanGradientStep(const Site& site)
        : between_(site),
          place_(site.owner.reserve(between_.words, site.per_individual)),
          // The last tile is walked by the gradient alone.
          starts_(site, Kind::starts, start_views(site), tiles_of(site) - 1),
          walk_(site, Kind::gradient, walk_views(site), tiles_of(site)) {
        const SelectiveScanSizes sizes(site);
        std::int64_t offset = between_.starts;
        const auto add = [&](std::size_t index, std::int64_t parts, std::int64_t words) {
            Place from = place_;
            from.offset += offset;
            offset += parts * words;
            sums_.push_back(make_column_sums(site.owner, site.per_individual,
                                             {from, site.results[index], parts, words}));
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
    [[nodiscard]] Views start_views(const Site& site) const {
        Views views = operand_views(site);
        views[view_kept] = {place_, between_.starts, true};
        return views;
    }

    [[nodiscard]] Views walk_views(const Site& site) const {
        Views views = operand_views(site);
        views[view_state] = operand(site, operand_end_upstream);
        views[view_first_result] = {place_, between_.words, true};
        views[view_upstream] = operand(site, operand_upstream);
        views[view_u_gradient] = result(site, 0);
        views[view_raw_gradient] = result(site, 1);
        views[view_state_gradient] = result(site, operand_state);
        return views;
    }

    Between between_;
    Place place_;
    SelectiveScanKernel starts_;
    SelectiveScanKernel walk_;
    std::vector<std::unique_ptr<Step>> sums_;
};

}  // namespace

std::unique_ptr<Step> make_selective_scan(const Site& site) {
    return std::make_unique<SelectiveScanStep>(site);
}

std::unique_ptr<Step> make_selective_scan_gradient(const Site& site) {
    return std::make_unique<SelectiveScanGradientStep>(site);
}

}  // namespace cambrian::gpu
