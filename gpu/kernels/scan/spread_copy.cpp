#include "cambrian/gpu/kernels/scan/spread_copy.hpp"

#include <fmt/format.h>

#include <array>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/network/bytecode/bytecode.hpp"
#include "cambrian/gpu/codegen/shader_compiler.hpp"

namespace cambrian::gpu {
namespace {

/// Lanes of each individual.
constexpr std::uint32_t parts = 8;
constexpr std::uint32_t width = parts * RowSpread::individuals;

// Every lane walks the instructions, which are few; what is many is shared by the lanes of an
// individual.
constexpr std::string_view text = R"(
void main() {{
    const uint slot = gl_LocalInvocationIndex % {individuals}u;
    const uint part = gl_LocalInvocationIndex / {individuals}u;
    const uint group_first = group() * {individuals}u;
    const uint individual = group_first + slot;
    if (individual >= push.word[0]) return;
    Words4 bytecode = Words4(push.address[0] + 4ul * uint64_t(push.word[1]) * uint64_t(individual));
    Words4 weights = Words4(push.address[1] + 4ul * uint64_t(push.word[2]) * uint64_t(individual));
    uint64_t to = push.address[3];
    if (group_first + {individuals}u <= push.word[0])
        to = push.address[2] + 4ul * uint64_t(push.word[3] + push.word[4]) * uint64_t(group_first);
    to += 16ul * uint64_t(slot);
    Words4 bytecode_to = Words4(to);
    Words4 weights_to = Words4(to + {individuals}ul * 4ul * uint64_t(push.word[3]));
    uint end = 0u;
    while (bytecode.at[end].x != {end}u)
        end += 2u + (bytecode.at[end].x == {neurons}u ? bytecode.at[end + 1u].w >> 2 : 0u);
    const uint first = bytecode.at[end + 1u].z;
    const uint fours = min(bytecode.at[end + 1u].w, push.word[4]) >> 2;
    for (uint at = 0u; at <= end;) {{
        const uvec4 head = bytecode.at[at];
        uvec4 tail = bytecode.at[at + 1u];
        const uint table = head.x == {neurons}u ? tail.w >> 2 : 0u;
        tail.z -= first;
        if (part == 0u) {{
            bytecode_to.at[at * {individuals}u] = head;
            bytecode_to.at[(at + 1u) * {individuals}u] = tail;
        }}
        at += 2u;
        for (uint i = part; i < table; i += {parts}u)
            bytecode_to.at[(at + i) * {individuals}u] = bytecode.at[at + i];
        at += table;
    }}
    if (part == 0u && push.word[5] > 0u) {{
        const uint price = {fixed_price}u + fours;
        Words(push.address[4]).at[individual] = price;
        atomicAdd(Words(push.address[5]).at[0], price);
    }}
    for (uint i = part; i < fours; i += {parts}u)
        weights_to.at[i * {individuals}u] = weights.at[(first >> 2) + i];
}}
)";

}  // namespace

SpreadCopy::SpreadCopy(const RowSpread& spread, const RowViews& views, std::int64_t weights_operand,
                       CompiledGraph& owner)
    : spread_(spread),
      bytecode_(views.operands[spread.bytecode]),
      weights_(views.operands[spread.weights]),
      weights_operand_(weights_operand),
      groups_(owner.reserve_uncounted(words())),
      rest_(owner.reserve(words() * RowSpread::individuals, false)),
      prices_(owner.reserve(1, true)),
      total_(owner.reserve(1, false)) {
    const std::string shader =
        fmt::format(text, fmt::arg("individuals", RowSpread::individuals), fmt::arg("parts", parts),
                    fmt::arg("fixed_price", RowSpread::fixed_price),
                    fmt::arg("end", static_cast<int>(BytecodeOp::end)),
                    fmt::arg("neurons", static_cast<int>(BytecodeOp::neurons)));
    const std::array constants{width};
    Resources& resources = owner.resources();
    pipeline_ = &resources.pipelines.get(
        "spread_networks", resources.compiler.compile("spread_networks", shader), constants);
}

BufferView SpreadCopy::entry(std::size_t index) const {
    if (index == RowEntry::prices_after_spread) return prices_;
    if (index > RowEntry::prices_after_spread) return total_;
    BufferView view = index < 2 ? groups_ : rest_;
    if (index % 2 == 1) view.offset += RowSpread::individuals * spread_.bytecode_words;
    return view;
}

std::vector<vulkan::Range> SpreadCopy::ranges(const Frame& frame) const {
    return {frame.range(groups_, words()), frame.range(rest_, words() * RowSpread::individuals),
            frame.range(prices_, 1), frame.range(total_, 1)};
}

void SpreadCopy::record(vulkan::Recorder& recorder, const Frame& frame, bool priced) const {
    vulkan::Push push;
    push.address = {frame.address(bytecode_), frame.address(weights_), frame.address(groups_),
                    frame.address(rest_),     frame.address(prices_),  frame.address(total_)};
    CAMBRIAN_ASSERT(push.address[2] % 16 == 0 && push.address[3] % 16 == 0);
    push.word[0] = static_cast<std::uint32_t>(frame.population);
    push.word[1] = static_cast<std::uint32_t>(bytecode_.stride);
    push.word[2] = static_cast<std::uint32_t>(weights_.stride);
    push.word[3] = static_cast<std::uint32_t>(spread_.bytecode_words);
    push.word[4] = static_cast<std::uint32_t>(spread_.weight_words);
    push.word[5] = priced ? 1 : 0;
    if (priced) recorder.fill(frame.address(total_), word_bytes, 0);
    const std::array reads{frame.range(bytecode_, spread_.bytecode_words),
                           frame.range(weights_, weights_operand_)};
    const auto groups =
        (static_cast<std::uint64_t>(frame.population) + RowSpread::individuals - 1) /
        RowSpread::individuals;
    recorder.dispatch(*pipeline_, push, groups, reads, ranges(frame));
}

}  // namespace cambrian::gpu
