#include "cambrian/gpu/kernels/order/axis_sort.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/gpu/execution/walk.hpp"
#include "cambrian/gpu/kernels/kernel_table.hpp"

namespace cambrian::gpu {
namespace {

// Flags of sort_local.comp.
constexpr std::uint32_t pairs_in = 1;
constexpr std::uint32_t halves_are_merged = 2;
constexpr std::uint32_t elements_out = 4;
constexpr std::uint32_t descending = 8;

// Pairs that a workgroup sorts in its memory.
constexpr std::uint32_t room = 1024;
// Chunks of which more is kept are merged instead.
constexpr std::int64_t max_kept = room / 4;

std::int64_t power_of_two(std::int64_t length) {
    return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(length)));
}

template <std::size_t size>
void set_words(vulkan::Push& push, const std::array<std::int64_t, size>& words) {
    std::ranges::transform(words, push.word.begin(),
                           [](std::int64_t word) { return static_cast<std::uint32_t>(word); });
}

}  // namespace

AxisSort::AxisSort(CompiledGraph& owner, const Request& request)
    : owner_(owner),
      request_(request),
      width_(plain_group_width(owner.resources())),
      local_(static_pipeline(owner.resources(), "sort_local",
                             std::array{width_, request.type == ValueType::real ? 1U : 0U, room})),
      global_(static_pipeline(owner.resources(), "sort_global", std::array{width_})) {
    CAMBRIAN_EXPECT(request.count >= 1 && request.count <= request.split.length);
    if (request.split.length <= room) {
        sort_at_once();
    } else if (request.count <= max_kept) {
        keep_largest_of_chunks();
    } else {
        sort_chunks_and_merge();
    }
}

void AxisSort::sort_at_once() {
    const std::int64_t chunk = std::max<std::int64_t>(2, power_of_two(request_.split.length));
    add_local(operand(), result(), chunk, chunk, 0);
}

// What is not among the first of its chunk is not among the first of all.
void AxisSort::keep_largest_of_chunks() {
    Pairs in = operand();
    std::uint32_t flags = 0;
    const std::int64_t count = request_.count;
    while (in.length > room) {
        const std::int64_t whole = in.length / room;
        const Pairs out = reserved(whole * count + std::min(count, in.length % room));
        add_local(in, out, room, count, flags);
        in = out;
        flags = pairs_in;
    }
    add_local(in, result(), power_of_two(in.length), count, flags);
}

void AxisSort::sort_chunks_and_merge() {
    const std::int64_t length = request_.split.length;
    // All of it can be sorted where it goes: the elements follow in the end.
    Pairs pairs = request_.count == length ? result() : reserved(length);
    add_local(operand(), pairs, room, room, 0);
    for (std::int64_t size = 2 * room; size / 2 < length; size *= 2) {
        for (std::int64_t reach = size / 2; reach >= room; reach /= 2)
            passes_.push_back({.in = pairs,
                               .out = pairs,
                               .reach = reach,
                               .mirrored = 2 * reach == size ? size : 0});
        const bool last = size >= length;
        add_local(pairs, last ? result() : pairs, room, room, pairs_in | halves_are_merged);
    }
}

AxisSort::Pairs AxisSort::operand() const {
    return {request_.operand, request_.operand, request_.split.length};
}

AxisSort::Pairs AxisSort::result() const {
    return {request_.sorted, request_.indices, request_.count};
}

AxisSort::Pairs AxisSort::reserved(std::int64_t length) {
    const std::int64_t words = request_.split.lines() * length;
    return {owner_.reserve(words, request_.per_individual),
            owner_.reserve(words, request_.per_individual), length};
}

void AxisSort::add_local(const Pairs& in, const Pairs& out, std::int64_t chunk, std::int64_t keep,
                         std::uint32_t flags) {
    if (request_.descending) flags |= descending;
    passes_.push_back({.in = in, .out = out, .chunk = chunk, .keep = keep, .flags = flags});
}

void AxisSort::record(vulkan::Recorder& recorder, const Frame& frame) const {
    if (request_.split.lines() == 0) return;
    for (const Pass& pass : passes_) {
        if (pass.reach > 0)
            record_global(recorder, frame, pass);
        else
            record_local(recorder, frame, pass);
    }
}

void AxisSort::record_local(vulkan::Recorder& recorder, const Frame& frame,
                            const Pass& pass) const {
    const AxisSplit& split = request_.split;
    const std::int64_t rows = split.lines() * (request_.per_individual ? frame.population : 1);
    const bool last = &pass == &passes_.back();
    const bool as_elements = last && !request_.as_keys;
    vulkan::Push push;
    push.address = {frame.address(pass.out.keys), frame.address(pass.out.indices),
                    frame.address(request_.operand), frame.address(pass.in.keys),
                    frame.address(pass.in.indices)};
    set_words(push, std::array<std::int64_t, 14>{
                        rows, pass.in.length, pass.out.length, pass.chunk, pass.keep, split.inner,
                        split.lines(), split.length, request_.operand.stride, pass.in.keys.stride,
                        pass.in.indices.stride, pass.out.keys.stride, pass.out.indices.stride,
                        pass.flags | (as_elements ? elements_out : 0)});
    const std::int64_t chunks = rows * ((pass.in.length + pass.chunk - 1) / pass.chunk);
    const auto chunks_of_group = static_cast<std::uint32_t>(room / pass.chunk);
    const std::int64_t in_words = split.lines() * pass.in.length;
    const std::int64_t out_words = split.lines() * pass.out.length;
    const std::array reads{frame.range(request_.operand, split.elements()),
                           frame.range(pass.in.keys, in_words),
                           frame.range(pass.in.indices, in_words)};
    const std::array writes{frame.range(pass.out.keys, out_words),
                            frame.range(pass.out.indices, out_words)};
    recorder.dispatch(local_, push, groups_for(chunks, chunks_of_group), reads, writes);
}

void AxisSort::record_global(vulkan::Recorder& recorder, const Frame& frame,
                             const Pass& pass) const {
    const AxisSplit& split = request_.split;
    const std::int64_t rows = split.lines() * (request_.per_individual ? frame.population : 1);
    const std::int64_t pairs_of_row = power_of_two(split.length) / 2;
    vulkan::Push push;
    push.address = {frame.address(pass.out.keys), frame.address(pass.out.indices)};
    set_words(push, std::array<std::int64_t, 9>{
                        rows * pairs_of_row, pairs_of_row, split.inner, split.outer, split.length,
                        pass.reach, pass.mirrored, pass.out.keys.stride, pass.out.indices.stride});
    const std::array touched{frame.range(pass.out.keys, split.elements()),
                             frame.range(pass.out.indices, split.elements())};
    recorder.dispatch(global_, push, groups_for(rows * pairs_of_row, width_), touched, touched);
}

namespace {

class SortKernel : public Kernel {
  public:
    SortKernel(const KernelContext& context, int axis, bool largest_first)
        : sort_(context.owner, {.per_individual = context.per_individual,
                                .split = {context.operand().shape, axis},
                                .count = context.result().shape[axis],
                                .type = context.operand().type,
                                .descending = largest_first,
                                .operand = context.operands[0],
                                .sorted = context.results[0],
                                .indices = context.results[1]}) {}

    void record(vulkan::Recorder& recorder, const Frame& frame) const override {
        sort_.record(recorder, frame);
    }

  private:
    AxisSort sort_;
};

}  // namespace

std::unique_ptr<Kernel> make_sort(const KernelContext& context) {
    const auto& sort = context.attribute<SortAttribute>();
    return std::make_unique<SortKernel>(context, sort.axis, sort.descending);
}

std::unique_ptr<Kernel> make_topk(const KernelContext& context) {
    return std::make_unique<SortKernel>(context, context.attribute<TopkAttribute>().axis, true);
}

}  // namespace cambrian::gpu
