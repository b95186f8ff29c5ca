#include "cambrian/gpu/execution/walk.hpp"

#include <algorithm>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/gpu/codegen/shader_compiler.hpp"

namespace cambrian::gpu {
namespace {

// {extent, strides} of the outer axes, the innermost of them first. The extent of the outermost
// axis is never read: it may count individuals.
std::vector<std::uint32_t> outer_axes(const Nest& nest) {
    std::vector<std::uint32_t> words;
    for (int axis = nest.axis_count - 2; axis >= 0; --axis) {
        const Nest::Axis& a = nest.axes[static_cast<std::size_t>(axis)];
        words.push_back(static_cast<std::uint32_t>(a.extent));
        for (const std::int64_t stride : a.strides)
            words.push_back(static_cast<std::uint32_t>(stride));
    }
    return words;
}

// Rows must be whole vectors, except for a single row of which each view is a run or one word.
bool fits_vectors(const Nest& nest, std::size_t views) {
    const Nest::Axis& inner = nest.inner();
    if (inner.strides[0] != 1) return false;
    for (std::size_t view = 1; view < views; ++view)
        if (inner.strides[view] != 0 && inner.strides[view] != 1) return false;
    if (nest.axis_count == 1) return true;
    if (inner.extent % vector_words != 0) return false;
    for (int axis = 0; axis + 1 < nest.axis_count; ++axis)
        for (std::size_t view = 0; view < views; ++view) {
            const std::int64_t stride = nest.axes[static_cast<std::size_t>(axis)].strides[view];
            if (inner.strides[view] == 1 && stride % vector_words != 0) return false;
        }
    return true;
}

}  // namespace

std::uint32_t plain_group_width(const Resources& resources) {
    return resources.device.limits().software ? 64 : 256;
}

std::int64_t max_turns(const Resources& resources) {
    if (resources.max_turns > 0) return resources.max_turns;
    return resources.device.limits().software ? 32768 : std::int64_t{1} << 22;
}

Walk::Walk(CompiledGraph& owner, bool per_individual, const Nest& nest, std::vector<View> views,
           std::string_view name, WordFunction function)
    : resources_(owner.resources()),
      per_individual_(per_individual),
      nest_(nest),
      views_(std::move(views)),
      name_(function.chosen_late ? "elementwise" : name),
      function_(function) {
    CAMBRIAN_EXPECT(views_.size() >= 2 && views_.size() <= Nest::max_views);
    // A software device gains nothing from vectors and compiles four times as much for them.
    may_be_wide_ = !resources_.device.limits().software && fits_vectors(nest_, views_.size());
    if (nest_.axis_count > 1 && !nest_.empty) table_ = owner.table(outer_axes(nest_));
}

bool Walk::wide_in(const Frame& frame, std::int64_t total) const {
    if (!may_be_wide_ || total < vector_words) return false;
    return std::ranges::all_of(views_, [&](const View& view) {
        const auto index = static_cast<std::size_t>(&view - views_.data());
        return nest_.inner().strides[index] == 0 ||
               frame.address(view.buffer) % (vector_words * word_bytes) == 0;
    });
}

const vulkan::Pipeline& Walk::pipeline(bool wide) const {
    const vulkan::Pipeline*& made = pipelines_[wide ? 1 : 0];
    if (made == nullptr) {
        const std::array<std::uint32_t, 4> constants{
            plain_group_width(resources_), wide ? std::uint32_t{vector_words} : 1U,
            static_cast<std::uint32_t>(views_.size() - 1), function_.constant()};
        made = &resources_.pipelines.get(
            name_, resources_.compiler.compile("elementwise", elementwise_source()), constants);
    }
    return *made;
}

std::vector<vulkan::Range> Walk::ranges(const Frame& frame) const {
    std::vector<vulkan::Range> ranges;
    for (const View& view : views_) ranges.push_back(frame.range(view.buffer, view.elements));
    return ranges;
}

void Walk::record(vulkan::Recorder& recorder, const Frame& frame) const {
    const std::vector<vulkan::Range> touched = ranges(frame);
    const std::span<const vulkan::Range> all(touched);
    record(recorder, frame, all.subspan(1), all.first(1));
}

void Walk::record(vulkan::Recorder& recorder, const Frame& frame,
                  std::span<const vulkan::Range> reads,
                  std::span<const vulkan::Range> writes) const {
    if (nest_.empty) return;
    std::int64_t total = per_individual_ ? frame.population : 1;
    for (int axis = 0; axis < nest_.axis_count; ++axis)
        total *= nest_.axes[static_cast<std::size_t>(axis)].extent;
    CAMBRIAN_ASSERT(total <= max_words);
    vulkan::Push push;
    for (std::size_t view = 0; view < views_.size(); ++view) {
        push.address[view] = frame.address(views_[view].buffer);
        push.word[4 + view] = static_cast<std::uint32_t>(nest_.inner().strides[view]);
    }
    if (nest_.axis_count > 1) push.address[table_address] = frame.address(table_);
    push.word[2] = static_cast<std::uint32_t>(nest_.axis_count - 1);
    push.word[3] = function_.number;
    const bool wide = wide_in(frame, total);
    dispatch(recorder, push, wide, total, reads, writes);
    const std::int64_t rest = wide ? total % vector_words : 0;
    if (rest == 0) return;
    for (std::size_t view = 0; view < views_.size(); ++view)
        push.address[view] +=
            static_cast<std::uint64_t>((total - rest) * push.word[4 + view]) * word_bytes;
    dispatch(recorder, push, false, rest, {}, {});
}

void Walk::dispatch(vulkan::Recorder& recorder, vulkan::Push& push, bool wide, std::int64_t words,
                    std::span<const vulkan::Range> reads,
                    std::span<const vulkan::Range> writes) const {
    const std::int64_t width = wide ? vector_words : 1;
    push.word[0] = static_cast<std::uint32_t>(words / width);
    push.word[1] = static_cast<std::uint32_t>(nest_.inner().extent / width);
    recorder.dispatch(pipeline(wide), push,
                      groups_for(words / width, plain_group_width(resources_)), reads, writes);
}

}  // namespace cambrian::gpu
