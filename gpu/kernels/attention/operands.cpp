#include "cambrian/gpu/kernels/attention/operands.hpp"

#include <algorithm>
#include <bit>

#include "cambrian/gpu/execution/walk.hpp"

namespace cambrian::gpu {
namespace {

// As in shaders/attention/heads.glsl.
constexpr std::uint32_t flag_causal = 1;
constexpr std::uint32_t flag_counts = 2;
constexpr std::uint32_t flag_own_row = 4;

}  // namespace

AttentionOperands::AttentionOperands(const KernelContext& context, const AttentionSizes& sizes,
                                     const Scores& scores, const Views& views, const Counts& counts)
    : resources_(context.owner.resources()),
      sizes_(sizes),
      views_(views),
      per_individual_(context.per_individual),
      counts_(counts) {
    table_ = context.owner.table(table_words(scores));
}

std::vector<std::uint32_t> AttentionOperands::table_words(const Scores& scores) const {
    const std::int64_t counts = std::max<std::int64_t>(counts_.elements, 1);
    std::vector<std::uint32_t> words{word(sizes_.rows),
                                     word(sizes_.queries),
                                     word(sizes_.keys),
                                     word(sizes_.width),
                                     word(sizes_.value_width),
                                     word(sizes_.key_heads),
                                     (scores.causal ? flag_causal : 0) |
                                         (counts_.elements > 0 ? flag_counts : 0) |
                                         (scores.own_row ? flag_own_row : 0),
                                     std::bit_cast<std::uint32_t>(static_cast<float>(scores.scale)),
                                     word(scores.window),
                                     word(std::max<std::int64_t>(sizes_.key_heads / counts, 1))};
    for (const View& view : views_) words.push_back(word(view.buffer.stride));
    words.push_back(word(counts_.buffer.stride));
    return words;
}

std::uint64_t AttentionOperands::groups(const Frame& frame, std::int64_t of_head) const {
    const std::int64_t individuals = per_individual_ ? frame.population : 1;
    return static_cast<std::uint64_t>(individuals * sizes_.key_heads * of_head);
}

vulkan::Push AttentionOperands::push(const Frame& frame, std::int64_t of_head) const {
    vulkan::Push push;
    if (counts_.elements > 0) push.set_address(0, frame.address(counts_.buffer));
    push.set_address(2, frame.address(table_));
    push.word[7] = word(of_head);
    for (std::size_t i = 0; i < tensor_count; ++i)
        if (views_[i].elements > 0) push.address[i] = frame.address(views_[i].buffer);
    return push;
}

bool AttentionOperands::only_vectors(const vulkan::Push& push) const {
    bool aligned = !resources_.device.limits().software;
    for (std::size_t i = 0; i < tensor_count; ++i) {
        const View& view = views_[i];
        if (view.elements == 0 || view.width == 0) continue;
        aligned = aligned && view.width % vector_words == 0 &&
                  view.buffer.stride % vector_words == 0 &&
                  push.address[i] % (vector_words * word_bytes) == 0;
    }
    return aligned;
}

void AttentionOperands::add_counts(const Frame& frame, std::vector<vulkan::Range>& reads) const {
    if (counts_.elements > 0) reads.push_back(frame.range(counts_.buffer, counts_.elements));
}

std::vector<vulkan::Range> AttentionOperands::reads_of(const Frame& frame, Tensor tensor) const {
    std::vector<vulkan::Range> reads{frame.range(views_[tensor].buffer, views_[tensor].elements)};
    add_counts(frame, reads);
    return reads;
}

std::vector<vulkan::Range> AttentionOperands::ranges(const Frame& frame, bool written) const {
    std::vector<vulkan::Range> ranges;
    for (const View& view : views_)
        if (view.elements > 0 && view.written == written)
            ranges.push_back(frame.range(view.buffer, view.elements));
    return ranges;
}

std::vector<vulkan::Range> AttentionOperands::reads(const Frame& frame) const {
    std::vector<vulkan::Range> reads = ranges(frame, false);
    add_counts(frame, reads);
    return reads;
}

std::vector<vulkan::Range> AttentionOperands::writes(const Frame& frame) const {
    return ranges(frame, true);
}

}  // namespace cambrian::gpu
