#include "cambrian/gpu/kernels/scan/row_kernel.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

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
        width_ = text.width;
        const std::array constants{width_};
        pipeline_ = &resources_.pipelines.get(
            kernel_name, resources_.compiler.compile(kernel_name, text.text), constants);
        table_.emplace(scan, analysis, views, owner, text);
    }

    void record(vulkan::Recorder& recorder, const Frame& frame) const override {
        const std::int64_t population = per_individual_ ? frame.population : 1;
        const std::int64_t lanes = population * rows_;
        if (lanes > std::numeric_limits<std::uint32_t>::max() - width_)
            throw DeviceError("cannot run " + std::to_string(lanes) +
                              " rows at once (a kernel counts them in 32 bits) evaluate fewer "
                              "individuals at once");
        vulkan::Push push;
        push.word[RowPush::population] = static_cast<std::uint32_t>(frame.population);
        push.word[RowPush::lanes] = static_cast<std::uint32_t>(lanes);
        push.word[RowPush::length] = static_cast<std::uint32_t>(length_);
        push.word[RowPush::rows] = static_cast<std::uint32_t>(rows_);
        table_->prepare(recorder, frame, push);
        const std::int64_t max_steps = std::max<std::int64_t>(steps_of_dispatch(lanes), 1);
        const std::int64_t dispatches =
            std::max<std::int64_t>((length_ + max_steps - 1) / max_steps, 1);
        for (std::int64_t i = 0; i < dispatches; ++i)
            dispatch(recorder, frame, push, i, dispatches, max_steps);
    }

  private:
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
    std::optional<RowTable> table_;
};

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
    const auto lanes = std::uint64_t{push.word[RowPush::lanes]};
    recorder.dispatch(*pipeline_, push, (lanes + width_ - 1) / width_,
                      table_->reads(frame, number > 0), table_->writes(frame));
}

}  // namespace

std::unique_ptr<Kernel> make_row_kernel(const ScanAttribute& scan, const RowAnalysis& analysis,
                                        const RowViews& views, CompiledGraph& owner,
                                        const std::string& kernel_name) {
    return std::make_unique<RowKernel>(scan, analysis, views, owner, kernel_name);
}

}  // namespace cambrian::gpu
