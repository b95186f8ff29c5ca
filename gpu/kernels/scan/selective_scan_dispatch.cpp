#include "cambrian/gpu/kernels/scan/selective_scan_dispatch.hpp"

#include <algorithm>
#include <vector>

#include "cambrian/gpu/execution/walk.hpp"

namespace cambrian::gpu {
namespace {

// Both within 16 KiB of shared memory and 128 invocations, which every device has.
constexpr SelectiveScanTile tile_of_few_states{4, 8};
constexpr SelectiveScanTile tile_of_states{16, 16};
// As in shaders/scan/selective_scan.glsl.
constexpr std::uint32_t flag_hold = 1;
constexpr std::uint32_t flag_starts = 2;
// A step forward counts as so many turns of an ordinary loop, one back as four times as many.
constexpr std::int64_t turns_of_step = 16;
constexpr std::int64_t turns_of_step_back = 64;

std::int64_t groups_of_sequence(const SelectiveScanSizes& sizes, const SelectiveScanTile& tile) {
    return (sizes.channels + tile.channels() - 1) / tile.channels();
}

}  // namespace

SelectiveScanSizes::SelectiveScanSizes(const KernelContext& context)
    : steps(context.operand(0).shape[-2]),
      channels(context.operand(2).shape[0]),
      states(context.operand(2).shape[1]) {
    sequences = context.operand(0).shape.elements() / (steps * channels);
}

std::int64_t SelectiveScanTile::shared_bytes() const {
    constexpr std::int64_t word_size = 4;
    constexpr std::int64_t terms = 4 * 2;  // Of a state: four kinds, of two steps.
    const std::int64_t tiles = steps * (3 * channels() + 2 * std::int64_t{states});
    return word_size * (std::int64_t{steps} * threads + tiles + terms * channels() * (states + 1));
}

const SelectiveScanTile& choose_selective_scan_tile(std::int64_t states) {
    return states <= tile_of_few_states.states ? tile_of_few_states : tile_of_states;
}

SelectiveScanDispatch::SelectiveScanDispatch(const KernelContext& context, Kind kind,
                                             const Views& views, std::int64_t tiles)
    : sizes_(context),
      tile_(choose_selective_scan_tile(sizes_.states)),
      views_(views),
      kind_(kind),
      tiles_(tiles),
      longest_stretch_(
          std::max<std::int64_t>(max_turns(context.owner.resources()) / tile_.steps /
                                     (kind == Kind::gradient ? turns_of_step_back : turns_of_step),
                                 1)),
      per_individual_(context.per_individual),
      pipeline_(
          static_pipeline(context.owner.resources(),
                          kind == Kind::gradient ? "selective_scan_gradient" : "selective_scan",
                          std::array{SelectiveScanTile::threads, tile_.states, tile_.steps})),
      table_(make_table(context)) {}

BufferView SelectiveScanDispatch::make_table(const KernelContext& context) const {
    const bool holds = context.attribute<SelectiveScanAttribute>().discretization ==
                       Discretization::zero_order_hold;
    std::vector<std::uint32_t> words{
        word(sizes_.steps), word(sizes_.channels), word(sizes_.states), word(sizes_.sequences),
        (holds ? flag_hold : 0) | (kind_ == Kind::starts ? flag_starts : 0)};
    for (const View& view : views_) words.push_back(word(view.buffer.stride));
    return context.owner.table(words);
}

void SelectiveScanDispatch::record(vulkan::Recorder& recorder, const Frame& frame) const {
    if (sizes_.sequences == 0) return;
    const std::int64_t stretches =
        std::max<std::int64_t>((tiles_ + longest_stretch_ - 1) / longest_stretch_, 1);
    for (std::int64_t i = 0; i < stretches; ++i) {
        const std::int64_t stretch = kind_ == Kind::gradient ? stretches - 1 - i : i;
        const std::int64_t begin = stretch * longest_stretch_;
        record(recorder, frame, {begin, std::min(begin + longest_stretch_, tiles_)});
    }
}

void SelectiveScanDispatch::record(vulkan::Recorder& recorder, const Frame& frame,
                                   Stretch stretch) const {
    const std::int64_t individuals = per_individual_ ? frame.population : 1;
    const std::int64_t groups = individuals * sizes_.sequences * groups_of_sequence(sizes_, tile_);
    std::vector<vulkan::Range> reads;
    std::vector<vulkan::Range> writes;
    for (const View& view : views_)
        if (view.elements > 0)
            (view.written ? writes : reads).push_back(frame.range(view.buffer, view.elements));
    vulkan::Push push = arguments(frame);
    push.word[10] = word(stretch.begin);
    push.word[11] = word(stretch.end);
    for (std::int64_t state = 0; state < sizes_.states; state += tile_.states) {
        push.word[12] = word(state);
        recorder.dispatch(pipeline_, push, static_cast<std::uint64_t>(groups), reads, writes);
    }
}

vulkan::Push SelectiveScanDispatch::arguments(const Frame& frame) const {
    vulkan::Push push;
    for (std::size_t i = 0; i < view_count; ++i) {
        if (views_[i].elements == 0) continue;
        const std::uint64_t address = frame.address(views_[i].buffer);
        if (i < vulkan::Push::addresses)
            push.address[i] = address;
        else
            push.set_address(2 * (i - vulkan::Push::addresses), address);
    }
    push.set_address(8, frame.address(table_));
    push.word[13] = word(groups_of_sequence(sizes_, tile_));
    return push;
}

}  // namespace cambrian::gpu
