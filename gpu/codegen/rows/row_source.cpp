#include "cambrian/gpu/codegen/rows/row_source.hpp"

#include <algorithm>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/gpu/codegen/rows/text.hpp"
#include "cambrian/gpu/codegen/shader_texts.hpp"

namespace cambrian::gpu {
namespace {

constexpr std::string_view address_function = R"(
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer Addresses {
    uint64_t at[];
};

// Where an individual's part of an entry of the memory table lies.
uint64_t entry_address(uint entry, uint individual) {
    Words words = Words(push.address[0] + uint64_t(entry) * 24ul);
    const uint slot = words.at[0];
    uint64_t start;
    if (slot < 6u) start = push.address[1u + slot];
    else start = Addresses(push.address[7]).at[slot - 6u];
    const uint64_t fixed_words = packUint2x32(uvec2(words.at[2], words.at[3]));
    const uint64_t scaled_words = packUint2x32(uvec2(words.at[4], words.at[5]));
    const uint64_t own_words = uint64_t(words.at[1]) * uint64_t(individual);
    return start + 4ul * (fixed_words + scaled_words * uint64_t(push.word[0]) + own_words);
}
)";
static_assert(RowEntry::words * 4 == 24 && RowSlots::direct == 6);

/// Which row a lane walks, and with whom.
std::string lane_of_team(std::size_t prices_entry) {
    return fmt::format(
        "    if (max_team > 1u) {{\n"
        "        lane = lane_of_team(Words(entry_address({prices}u, 0u)), "
        "Words(entry_address({prices}u + 1u, 0u)).at[0],\n"
        "                            push.word[{population}], push.word[{rows}], "
        "push.word[{weight}], {fixed}u);\n"
        "        if (lane == no_lane) return;\n"
        "    }}\n",
        fmt::arg("rows", RowPush::rows), fmt::arg("population", RowPush::population),
        fmt::arg("weight", RowPush::team_weight), fmt::arg("prices", prices_entry),
        fmt::arg("fixed", RowSpread::fixed_price));
}

/// A loop of at least two turns, of which a device that has ended others does one.
std::string report_of_ended_loops(std::size_t status_entry) {
    return fmt::format(
        "    uint turns = 0u;\n"
        "    while (turns <= push.word[{steps}]) ++turns;\n"
        "    if (turns <= push.word[{steps}]) report(Words(entry_address({entry}u, 0u)), {code}u, "
        "0u);\n",
        fmt::arg("steps", RowPush::steps), fmt::arg("entry", status_entry),
        fmt::arg("code", static_cast<std::uint32_t>(DataError::loops_ended)));
}

/// Pointers whose words go without registers, so that the others fit: those with most words.
std::set<std::string> too_many(const RowWriter& writer, std::int64_t max_cached) {
    std::vector<std::pair<std::int64_t, std::string>> by_words;
    for (const auto& [name, words] : writer.cached_words()) by_words.emplace_back(words, name);
    std::ranges::sort(by_words);
    std::set<std::string> uncached;
    std::int64_t cached = 0;
    for (const auto& [words, name] : by_words) {
        cached += words;
        if (cached > max_cached) uncached.insert(name);
    }
    return uncached;
}

}  // namespace

RowText RowKernelText::finish() {
    const auto carry_alive = [&] {
        const View& alive = carry_views_[static_cast<std::size_t>(scan_.alive_carry)];
        return alive.scalar ? alive.name : alive.name + "[0]";
    };
    // Nothing here of the number of rows or of the size of a network that is data: one pipeline
    // serves all.
    std::string text = "// A scan over rows.\n";
    text += address_function;
    text += writer_.functions();
    text += "\nvoid main() {\n";
    text += "    uint lane = group() * gl_WorkGroupSize.x + gl_LocalInvocationIndex;\n";
    if (writer_.teams) text += lane_of_team(writer_.prices_entry());
    text += fmt::format("    if (lane >= push.word[{}]) return;\n", RowPush::lanes);
    text += fmt::format(
        "    const uint individual = lane / push.word[{0}];\n"
        "    const uint row = lane - individual * push.word[{0}];\n",
        RowPush::rows);
    text += writer_.before_loop();
    text += loads_;
    if (writer_.teams) text += "    meet_team();\n";  // What one of them stores is not yet there.
    text += fmt::format(
        "    const uint last = push.word[{0}] + push.word[{1}];\n"
        "    for (uint step = push.word[{0}]; step < last; ++step) {{\n",
        RowPush::first_step, RowPush::steps);
    if (leaves_early()) text += fmt::format("        if ({} == 0) break;\n", carry_alive());
    if (scan_.reverse) {
        text += fmt::format("        const uint position = push.word[{}] - 1u - step;\n",
                            RowPush::length);
    } else {
        text += "        const uint position = step;\n";
    }
    text += writer_.in_loop();
    text += "    }\n";
    if (writer_.reports_ended_loops) text += report_of_ended_loops(writer_.status_entry);
    if (writer_.teams) text += "    if (team_member > 0) return;\n";
    text += stores_ + "}\n";
    return {std::move(text), writer_.constants, writer_.reports, writer_.width,
            interleaved_,    writer_.spread,    writer_.teams};
}

RowText write_row_kernel(const ScanAttribute& scan, const RowAnalysis& analysis,
                         const RowTextOptions& options) {
    CAMBRIAN_EXPECT(analysis.obstacle.empty());
    RowKernelText first(scan, analysis, options, {});
    first.write();
    std::set<std::string> uncached = too_many(first.writer(), options.max_cached);
    if (uncached.empty()) return first.finish();
    RowKernelText second(scan, analysis, options, std::move(uncached));
    second.write();
    return second.finish();
}

}  // namespace cambrian::gpu
