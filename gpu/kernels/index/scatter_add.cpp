#include <algorithm>
#include <array>
#include <optional>

#include "cambrian/gpu/execution/walk.hpp"
#include "cambrian/gpu/kernels/kernel_table.hpp"
#include "cambrian/gpu/kernels/order/axis_sort.hpp"

namespace cambrian::gpu {
namespace {

/// What scatter_add and scatter_add_along_axis have in common: the values of an axis and the
/// indices they are added at.
struct Scatter {
    AxisSplit values;
    AxisSplit indices;  ///< inner is 1 where a whole row has one index.
    std::int64_t extent = 0;
    DataError error = DataError::none;
};

/// The indices are sorted once, stably: the values of one index are then a segment in their order
/// of position, added up without atomics.
class ScatterAddKernel : public Kernel {
  public:
    ScatterAddKernel(const KernelContext& context, const Scatter& scatter)
        : resources_(context.owner.resources()),
          per_individual_(context.per_individual),
          scatter_(scatter),
          values_(context.operands[0]),
          result_(context.results[0]),
          status_(context.owner.status()),
          pipeline_(
              static_pipeline(resources_, "segment_sum",
                              std::array{plain_group_width(resources_),
                                         context.operand(0).type == ValueType::real ? 1U : 0U})) {
        const AxisSplit& indices = scatter_.indices;
        if (indices.elements() == 0) return;
        const bool own = context.operand(1).per_individual;
        keys_ = context.owner.reserve(indices.elements(), own);
        positions_ = context.owner.reserve(indices.elements(), own);
        sort_.emplace(context.owner, AxisSort::Request{.per_individual = own,
                                                       .split = indices,
                                                       .count = indices.length,
                                                       .type = ValueType::integer,
                                                       .operand = context.operands[1],
                                                       .sorted = keys_,
                                                       .indices = positions_,
                                                       .as_keys = true});
    }

    void record(vulkan::Recorder& recorder, const Frame& frame) const override {
        if (sort_) sort_->record(recorder, frame);
        const std::int64_t step = max_turns(resources_);
        std::int64_t begin = 0;
        do {
            add_segments(recorder, frame, begin, begin + step);
            begin += step;
        } while (begin < scatter_.indices.length);
    }

  private:
    void add_segments(vulkan::Recorder& recorder, const Frame& frame, std::int64_t begin,
                      std::int64_t end) const {
        const AxisSplit& values = scatter_.values;
        const std::int64_t elements = values.lines() * scatter_.extent;
        const std::int64_t items = elements * (per_individual_ ? frame.population : 1);
        vulkan::Push push;
        push.address = {frame.address(result_), frame.address(values_), frame.address(keys_),
                        frame.address(positions_), frame.address(status_)};
        const std::array words{items,
                               values.inner,
                               scatter_.extent,
                               values.outer,
                               values.length,
                               scatter_.indices.inner,
                               result_.stride,
                               values_.stride,
                               keys_.stride,
                               positions_.stride,
                               static_cast<std::int64_t>(scatter_.error),
                               begin,
                               end};
        std::ranges::transform(words, push.word.begin(),
                               [](std::int64_t w) { return static_cast<std::uint32_t>(w); });
        // The status words are exchanged atomically and read when all is done.
        const std::int64_t indices = scatter_.indices.elements();
        const std::array reads{frame.range(values_, values.elements()), frame.range(keys_, indices),
                               frame.range(positions_, indices)};
        const std::array writes{frame.range(result_, elements)};
        recorder.dispatch(pipeline_, push, groups_for(items, plain_group_width(resources_)), reads,
                          writes);
    }

    Resources& resources_;
    bool per_individual_;
    Scatter scatter_;
    BufferView values_, result_, status_, keys_{}, positions_{};
    std::optional<AxisSort> sort_;
    const vulkan::Pipeline& pipeline_;
};

}  // namespace

std::unique_ptr<Kernel> make_scatter_add(const KernelContext& context) {
    const std::int64_t rows = context.result().shape[0];
    const std::int64_t row = context.result().shape.elements() / rows;
    const std::int64_t count = context.operand(1).shape.elements();
    const Scatter scatter{.values = {1, count, row},
                          .indices = {1, count, 1},
                          .extent = rows,
                          .error = DataError::scatter_out_of_range};
    return std::make_unique<ScatterAddKernel>(context, scatter);
}

std::unique_ptr<Kernel> make_scatter_add_along_axis(const KernelContext& context) {
    const auto& [axis, extent] = context.attribute<ScatterAlongAttribute>();
    const AxisSplit split(context.operand(0).shape, axis);
    const Scatter scatter{.values = split,
                          .indices = split,
                          .extent = extent,
                          .error = DataError::scatter_add_along_axis_out_of_range};
    return std::make_unique<ScatterAddKernel>(context, scatter);
}

}  // namespace cambrian::gpu
