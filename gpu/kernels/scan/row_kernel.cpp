#include "cambrian/gpu/kernels/scan/row_kernel.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/gpu/codegen/shader_compiler.hpp"
#include "cambrian/gpu/execution/compiled_graph.hpp"
#include "cambrian/gpu/execution/walk.hpp"

namespace cambrian::gpu {
namespace {

/// Scalar operations a second, about, for how long a dispatch would run.
constexpr double device_speed = 1e12;
constexpr double software_speed = 5e9;
/// Invocations that a GPU needs to reach it.
constexpr double device_lanes = 16384.0;

/// Steps from which laying invariants out anew pays.
constexpr std::int64_t min_interleaved_steps = 32;

class RowKernel final : public Kernel {
  public:
    RowKernel(const ScanAttribute& scan, const RowAnalysis& analysis, const RowViews& views,
              CompiledGraph& owner, const std::string& kernel_name)
        : resources_(owner.resources()),
          rows_(analysis.rows),
          operations_(analysis.max_operations + 16),
          length_(scan.length),
          per_individual_(views.per_individual) {
        RowTextOptions options{.math = resources_.math};
        const vulkan::DeviceLimits& limits = resources_.device.limits();
        if (limits.software) options.max_expanded = 512;
        if (scan.length < min_interleaved_steps) options.max_interleaved = 0;
        options.software = limits.software;
        options.shared_words =
            std::min(options.shared_words, limits.shared_bytes / cambrian::word_bytes);
        options.teams = limits.subgroup_scans && limits.neighbours() >= max_row_team;
        const RowText text = write_row_kernel(scan, analysis, options);
        width_ = text.width;
        const auto& shader = resources_.compiler.compile(kernel_name, text.text);
        const auto pipeline = [&](std::span<const std::uint32_t> constants) {
            return &resources_.pipelines.get(kernel_name, shader, constants);
        };
        pipeline_ = pipeline(std::array{width_});
        if (text.teams && max_team() > 1) teams_ = pipeline(std::array{width_, max_team()});
        if (text.spread) largest_network_ = text.spread->weight_words;
        table_.emplace(scan, analysis, views, owner, text);
    }

    void record(vulkan::Recorder& recorder, const Frame& frame) const override {
        const std::int64_t population = per_individual_ ? frame.population : 1;
        const std::int64_t lanes = population * rows_;
        CAMBRIAN_ASSERT(lanes <= max_words);
        vulkan::Push push;
        push.word[RowPush::population] = static_cast<std::uint32_t>(frame.population);
        push.word[RowPush::lanes] = static_cast<std::uint32_t>(lanes);
        push.word[RowPush::length] = static_cast<std::uint32_t>(length_);
        push.word[RowPush::rows] = static_cast<std::uint32_t>(rows_);
        push.word[RowPush::team_weight] = team_weight();
        table_->prepare(recorder, frame, push, in_teams(lanes));
        const std::int64_t max_steps = std::max<std::int64_t>(steps_of_dispatch(lanes), 1);
        const std::int64_t dispatches =
            std::max<std::int64_t>((length_ + max_steps - 1) / max_steps, 1);
        for (std::int64_t i = 0; i < dispatches; ++i)
            dispatch(recorder, frame, push, i, dispatches, max_steps);
    }

  private:
    [[nodiscard]] std::uint32_t max_team() const;
    [[nodiscard]] bool in_teams(std::int64_t lanes) const;
    [[nodiscard]] std::uint32_t team_weight() const;
    [[nodiscard]] std::int64_t steps_of_dispatch(std::int64_t lanes) const;
    void dispatch(vulkan::Recorder& recorder, const Frame& frame, vulkan::Push& push,
                  std::int64_t number, std::int64_t count, std::int64_t max_steps) const;

    Resources& resources_;
    const vulkan::Pipeline* pipeline_ = nullptr;
    std::uint32_t width_ = row_group_width;
    std::int64_t rows_;
    std::int64_t operations_;
    std::int64_t length_;
    bool per_individual_;
    const vulkan::Pipeline* teams_ = nullptr;  ///< Null where no run has teams.
    std::int64_t largest_network_ = 0;         ///< Words of weights.
    std::optional<RowTable> table_;
};

// What a software device does beside other things takes as long as after them.
std::uint32_t RowKernel::max_team() const {
    if (resources_.row_team > 0) return static_cast<std::uint32_t>(resources_.row_team);
    const bool alone = resources_.row_team == 0 && resources_.device.limits().software;
    return alone ? 1 : max_row_team;
}

// Many rows keep every lane of a device busy for longer than one of them takes. The least weights
// that populations have programs for hold too little to share.
bool RowKernel::in_teams(std::int64_t lanes) const {
    constexpr double max_lanes = 4 * device_lanes;
    constexpr std::int64_t max_small = 256;
    if (teams_ == nullptr || resources_.row_team > 0) return teams_ != nullptr;
    return static_cast<double>(lanes) < max_lanes && largest_network_ > max_small;
}

// A device keeps its lanes busy by taking turns: one alone waits for half of the time.
std::uint32_t RowKernel::team_weight() const {
    constexpr double alone = 1.6 * device_lanes;
    return resources_.row_team > 0
               ? 0
               : static_cast<std::uint32_t>(alone) / static_cast<std::uint32_t>(rows_);
}

std::int64_t RowKernel::steps_of_dispatch(std::int64_t lanes) const {
    const bool software = resources_.device.limits().software;
    const double work = static_cast<double>(operations_) *
                        (software ? static_cast<double>(lanes)
                                  : std::max(static_cast<double>(lanes), device_lanes));
    // An operation is at max_steps one turn of a loop.
    const double steps =
        std::min(resources_.longest_dispatch * (software ? software_speed : device_speed) / work,
                 static_cast<double>(max_turns(resources_)) / static_cast<double>(operations_));
    return steps < static_cast<double>(length_) ? static_cast<std::int64_t>(steps) : length_;
}

void RowKernel::dispatch(vulkan::Recorder& recorder, const Frame& frame, vulkan::Push& push,
                         std::int64_t number, std::int64_t count, std::int64_t max_steps) const {
    // The last dispatch writes to the results, place 1.
    const auto place = [&](std::int64_t i) { return (count - 1 - i) % 2 == 0 ? 1U : 2U; };
    const std::int64_t first = number * max_steps;
    push.word[RowPush::first_step] = static_cast<std::uint32_t>(first);
    push.word[RowPush::steps] = static_cast<std::uint32_t>(std::min(max_steps, length_ - first));
    push.word[RowPush::read_place] = number == 0 ? 0U : place(number - 1);
    push.word[RowPush::write_place] = place(number);
    const auto groups_of = [&](std::uint64_t each) { return (each + width_ - 1) / width_; };
    const bool teams = in_teams(push.word[RowPush::lanes]);
    const std::uint64_t groups = teams ? groups_of(push.word[RowPush::population]) *
                                             static_cast<std::uint64_t>(rows_) * max_team()
                                       : groups_of(push.word[RowPush::lanes]);
    recorder.dispatch(teams ? *teams_ : *pipeline_, push, groups, table_->reads(frame, number > 0),
                      table_->writes(frame));
}

}  // namespace

std::unique_ptr<Kernel> make_row_kernel(const ScanAttribute& scan, const RowAnalysis& analysis,
                                        const RowViews& views, CompiledGraph& owner,
                                        const std::string& kernel_name) {
    return std::make_unique<RowKernel>(scan, analysis, views, owner, kernel_name);
}

}  // namespace cambrian::gpu
