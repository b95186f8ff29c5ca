#include "cambrian/gpu/kernels/scan/row_kernel.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
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
          operations_(analysis.operations + 16),
          length_(scan.length),
          per_individual_(views.per_individual) {
        RowTextOptions options{.math = resources_.math};
        if (resources_.device.limits().software) options.max_expanded = 512;
        if (scan.length < min_interleaved_steps) options.max_interleaved = 0;
        const RowText text = write_row_kernel(scan, analysis, options);
        code_ = &resources_.compiler.compile(kernel_name, text.text);
        name_ = kernel_name;
        has_teams_ = text.has_teams;
        team_rows_ = text.team_rows;
        table_.emplace(scan, analysis, views, owner, text);
    }

    void record(vulkan::Recorder& recorder, const Frame& frame) const override {
        const std::int64_t population = per_individual_ ? frame.population : 1;
        const std::int64_t lanes = population * rows_;
        if (lanes > std::numeric_limits<std::uint32_t>::max() - row_group_width)
            throw DeviceError("cannot run " + std::to_string(lanes) +
                              " rows at once (a kernel counts them in 32 bits) evaluate fewer "
                              "individuals at once");
        vulkan::Push push;
        push.word[RowPush::population] = static_cast<std::uint32_t>(frame.population);
        push.word[RowPush::lanes] = static_cast<std::uint32_t>(lanes);
        push.word[RowPush::length] = static_cast<std::uint32_t>(length_);
        push.word[RowPush::rows] = static_cast<std::uint32_t>(rows_);
        const std::uint32_t row_lanes = lanes_of_row(lanes);
        std::vector<std::uint32_t> constants{row_group_width};
        if (has_teams_) constants.push_back(row_lanes);
        const Launch launch{resources_.pipelines.get(name_, *code_, constants), row_lanes};
        table_->prepare(recorder, frame, push);
        const std::int64_t max_steps = std::max<std::int64_t>(steps_of_dispatch(lanes), 1);
        const std::int64_t dispatches =
            std::max<std::int64_t>((length_ + max_steps - 1) / max_steps, 1);
        for (std::int64_t i = 0; i < dispatches; ++i)
            dispatch(recorder, frame, push, launch, {i, dispatches, max_steps});
    }

  private:
    /// What a dispatch runs.
    struct Launch {
        const vulkan::Pipeline& pipeline;
        std::uint32_t row_lanes = 1;
    };
    /// One of the dispatches that a scan is cut into.
    struct Cut {
        std::int64_t number = 0;
        std::int64_t count = 1;
        std::int64_t max_steps = 0;
    };
    [[nodiscard]] std::uint32_t lanes_of_row(std::int64_t rows) const;
    [[nodiscard]] std::int64_t steps_of_dispatch(std::int64_t lanes) const;
    void dispatch(vulkan::Recorder& recorder, const Frame& frame, vulkan::Push& push,
                  const Launch& launch, const Cut& cut) const;

    Resources& resources_;
    std::string name_;
    const std::vector<std::uint32_t>* code_ = nullptr;
    bool has_teams_ = false;
    std::int64_t team_rows_ = 0;
    std::int64_t rows_;
    std::int64_t operations_;
    std::int64_t length_;
    bool per_individual_;
    std::optional<RowTable> table_;
};

/// A device that has lanes to spare shares out the work of a row: no bit depends on it.
std::uint32_t RowKernel::lanes_of_row(std::int64_t rows) const {
    const vulkan::DeviceLimits& limits = resources_.device.limits();
    CAMBRIAN_EXPECT(resources_.row_lanes <= 1 || resources_.row_lanes == team_lanes);
    if (!has_teams_ || limits.subgroup_width < team_lanes) return 1;
    if (resources_.row_lanes != 0) return resources_.row_lanes;
    return rows <= team_rows_ * limits.processors ? team_lanes : 1;
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
                         const Launch& launch, const Cut& cut) const {
    // The last dispatch writes to the results, place 1.
    const auto place = [&](std::int64_t i) { return (cut.count - 1 - i) % 2 == 0 ? 1U : 2U; };
    const std::int64_t first = cut.number * cut.max_steps;
    push.word[RowPush::first_step] = static_cast<std::uint32_t>(first);
    push.word[RowPush::steps] =
        static_cast<std::uint32_t>(std::min(cut.max_steps, length_ - first));
    push.word[RowPush::read_place] = cut.number == 0 ? 0U : place(cut.number - 1);
    push.word[RowPush::write_place] = place(cut.number);
    const std::uint64_t rows_of_group = row_group_width / launch.row_lanes;
    recorder.dispatch(launch.pipeline, push,
                      (push.word[RowPush::lanes] + rows_of_group - 1) / rows_of_group,
                      table_->reads(frame, cut.number > 0), table_->writes(frame));
}

}  // namespace

std::unique_ptr<Kernel> make_row_kernel(const ScanAttribute& scan, const RowAnalysis& analysis,
                                        const RowViews& views, CompiledGraph& owner,
                                        const std::string& kernel_name) {
    return std::make_unique<RowKernel>(scan, analysis, views, owner, kernel_name);
}

}  // namespace cambrian::gpu
