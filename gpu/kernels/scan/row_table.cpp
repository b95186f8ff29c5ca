#include "cambrian/gpu/kernels/scan/row_kernel.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "cambrian/gpu/codegen/shader_compiler.hpp"
#include "cambrian/gpu/execution/transfer.hpp"
#include "cambrian/gpu/kernels/scan/spread_copy.hpp"

namespace cambrian::gpu {
namespace {

void append_word_pair(std::vector<std::uint32_t>& words, std::int64_t number) {
    const auto bits = static_cast<std::uint64_t>(number);
    words.push_back(static_cast<std::uint32_t>(bits));
    words.push_back(static_cast<std::uint32_t>(bits >> 32));
}

constexpr std::uint32_t copy_width = 64;
constexpr std::string_view interleave_text = R"(
// Words of individuals one after another become words of all individuals side by side.
void main() {
    const uint at = group() * gl_WorkGroupSize.x + gl_LocalInvocationIndex;
    if (at >= push.word[2]) return;
    const uint word = at / push.word[0];
    const uint individual = at - word * push.word[0];
    Words(push.address[1]).at[at] = Words(push.address[0]).at[individual * push.word[1] + word];
}
)";

}  // namespace

RowTable::RowTable(const ScanAttribute& scan, const RowAnalysis& analysis, const RowViews& views,
                   CompiledGraph& owner, const RowText& text) {
    add_entries(scan, analysis, views, owner, text.interleaved);
    add_entry(text.reports ? owner.status() : views.operands[0]);
    if (text.spread) {
        const ValueId weights = scan.body->inputs()[text.spread->weights];
        spread_ = std::make_unique<SpreadCopy>(*text.spread, views,
                                               scan.body->value(weights).shape.elements(), owner);
    }
    // Always there, so that the places of constants do not depend on it.
    for (std::size_t i = RowEntry::spread_after_status; i < RowEntry::constants_after_status; ++i)
        add_entry(spread_ ? spread_->entry(i - RowEntry::spread_after_status) : views.operands[0]);
    for (const auto& tensor : text.constants) add_entry(owner.table(tensor_words(*tensor)));
    if (listed_slots() > 0) slot_list_ = owner.reserve(2 * listed_slots(), false);
    table_ = owner.table(entries_);
}

RowTable::~RowTable() = default;

std::int64_t RowTable::listed_slots() const {
    return static_cast<std::int64_t>(slots_.size()) -
           static_cast<std::int64_t>(std::min(slots_.size(), RowSlots::direct));
}

void RowTable::prepare(vulkan::Recorder& recorder, const Frame& frame, vulkan::Push& push,
                       bool teams) const {
    place_slots(recorder, frame, push);
    record_copies(recorder, frame);
    if (spread_) spread_->record(recorder, frame, teams);
}

std::vector<vulkan::Range> RowTable::reads(const Frame& frame, bool later) const {
    std::vector<vulkan::Range> ranges{
        frame.range(table_, static_cast<std::int64_t>(entries_.size()))};
    if (listed_slots() > 0) ranges.push_back(frame.range(slot_list_, 2 * listed_slots()));
    for (const Touched& touched : read_)
        ranges.push_back(frame.range(touched.view, touched.elements));
    for (const Interleaved& copy : copies_) ranges.push_back(frame.range(copy.to, copy.elements));
    if (spread_) std::ranges::copy(spread_->ranges(frame), std::back_inserter(ranges));
    if (later) {
        const std::vector<vulkan::Range> written = writes(frame);
        ranges.insert(ranges.end(), written.begin(), written.end());
    }
    return ranges;
}

std::vector<vulkan::Range> RowTable::writes(const Frame& frame) const {
    std::vector<vulkan::Range> ranges;
    for (const Touched& touched : written_)
        ranges.push_back(frame.range(touched.view, touched.elements));
    return ranges;
}

void RowTable::add_entry(const BufferView& view) {
    const auto found = std::ranges::find(slots_, view.slot);
    const auto number = static_cast<std::uint32_t>(found - slots_.begin());
    if (found == slots_.end()) slots_.push_back(view.slot);
    entries_.push_back(number);
    entries_.push_back(static_cast<std::uint32_t>(view.stride));
    append_word_pair(entries_, view.offset);
    append_word_pair(entries_, view.scaled);
}

// What rows or individuals share is read by all and written by one: a dispatch of a cut scan must
// not write where it reads.
void RowTable::add_carry(const ScanAttribute& scan, const RowAnalysis& analysis,
                         const RowViews& views, CompiledGraph& owner, std::size_t index) {
    const ValueId id = scan.body->inputs()[index];
    const ValueInfo& info = scan.body->value(id);
    const std::int64_t elements = info.shape.elements();
    const bool shared = !info.per_individual ||
                        (analysis.rows > 1 && !analysis.has_rows[static_cast<std::size_t>(id)]);
    const BufferView& result = views.results[index];
    const BufferView other = shared ? owner.reserve(elements, info.per_individual) : result;
    add_entry(views.operands[index]);
    add_entry(result);
    add_entry(other);
    read_.push_back({views.operands[index], elements});
    written_.push_back({result, elements});
    if (shared) written_.push_back({other, elements});
}

void RowTable::add_entries(const ScanAttribute& scan, const RowAnalysis& analysis,
                           const RowViews& views, CompiledGraph& owner,
                           const std::vector<std::size_t>& interleaved) {
    const auto carries = static_cast<std::size_t>(scan.carries);
    const auto sequences = carries + static_cast<std::size_t>(scan.sequences);
    for (std::size_t i = 0; i < carries; ++i) add_carry(scan, analysis, views, owner, i);
    for (std::size_t i = carries; i < views.operands.size(); ++i) {
        const std::int64_t words = scan.body->value(scan.body->inputs()[i]).shape.elements();
        const bool copied = std::ranges::find(interleaved, i) != interleaved.end();
        const BufferView view =
            copied ? interleave(views.operands[i], words, owner) : views.operands[i];
        add_entry(view);
        if (!copied) read_.push_back({view, i < sequences ? words * scan.length : words});
    }
    for (std::size_t i = carries; i < views.results.size(); ++i) {
        const std::int64_t words = scan.body->value(scan.body->outputs()[i]).shape.elements();
        add_entry(views.results[i]);
        written_.push_back({views.results[i], words * scan.length});
    }
}

BufferView RowTable::interleave(const BufferView& operand, std::int64_t elements,
                                CompiledGraph& owner) {
    const BufferView whole = owner.reserve(elements, true);
    copies_.push_back({operand, whole, elements});
    const std::array constants{copy_width};
    copy_pipeline_ = &owner.resources().pipelines.get(
        "interleave",
        owner.resources().compiler.compile("interleave", std::string(interleave_text)), constants);
    BufferView entry = whole;
    entry.stride = 0;
    return entry;
}

void RowTable::record_copies(vulkan::Recorder& recorder, const Frame& frame) const {
    for (const Interleaved& copy : copies_) {
        vulkan::Push push;
        push.address = {frame.address(copy.from), frame.address(copy.to)};
        push.word[0] = static_cast<std::uint32_t>(frame.population);
        push.word[1] = static_cast<std::uint32_t>(copy.from.stride);
        push.word[2] = static_cast<std::uint32_t>(frame.population * copy.elements);
        const std::array reads{frame.range(copy.from, copy.elements)};
        const std::array writes{frame.range(copy.to, copy.elements)};
        const auto words = std::uint64_t{push.word[2]};
        recorder.dispatch(*copy_pipeline_, push, (words + copy_width - 1) / copy_width, reads,
                          writes);
    }
}

void RowTable::place_slots(vulkan::Recorder& recorder, const Frame& frame,
                           vulkan::Push& push) const {
    push.address[0] = frame.address(table_);
    const std::size_t direct = std::min(slots_.size(), RowSlots::direct);
    for (std::size_t i = 0; i < direct; ++i) push.address[1 + i] = frame.slots[slots_[i]];
    if (slots_.size() == direct) return;
    const std::uint64_t list = frame.address(slot_list_);
    push.address[1 + RowSlots::direct] = list;
    for (std::size_t i = direct; i < slots_.size(); ++i) {
        const std::uint64_t address = frame.slots[slots_[i]];
        const std::uint64_t at = list + (i - direct) * sizeof address;
        recorder.fill(at, word_bytes, static_cast<std::uint32_t>(address));
        recorder.fill(at + word_bytes, word_bytes, static_cast<std::uint32_t>(address >> 32));
    }
}

}  // namespace cambrian::gpu
