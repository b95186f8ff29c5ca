#include "cambrian/gpu/codegen/row_launch.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <vector>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/gpu/codegen/shader_compiler.hpp"
#include "cambrian/gpu/kernels/compiled_graph.hpp"

namespace cambrian::gpu {
namespace {

/// Scalar operations a second, about, for how long a dispatch would run.
constexpr double device_speed = 1e12;
constexpr double software_speed = 5e9;
/// Invocations that a GPU needs to reach it.
constexpr double device_lanes = 16384.0;

/// Lanes of a workgroup: few, so that small populations spread over the whole device.
constexpr std::uint32_t group_width = 32;

void append_word_pair(std::vector<std::uint32_t>& words, std::int64_t number) {
    const auto bits = static_cast<std::uint64_t>(number);
    words.push_back(static_cast<std::uint32_t>(bits));
    words.push_back(static_cast<std::uint32_t>(bits >> 32));
}

std::vector<std::uint32_t> constant_words(const Tensor& tensor) {
    std::vector<std::uint32_t> words;
    for (const double x : tensor.elements)
        words.push_back(tensor.type == ValueType::real
                            ? std::bit_cast<std::uint32_t>(static_cast<float>(x))
                            : static_cast<std::uint32_t>(static_cast<std::int32_t>(x)));
    return words;
}

/// A place and how many words of one individual lie there.
struct Touched {
    Place place;
    std::int64_t elements = 0;
};

/// An invariant laid out anew before the steps.
struct Interleaved {
    Place from;
    Place to;
    std::int64_t elements = 0;
};
/// Steps from which that pays.
constexpr std::int64_t least_interleaved_steps = 32;
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

class RowStep final : public Step {
  public:
    RowStep(const ScanAttribute& scan, const RowAnalysis& analysis, const RowPlaces& places,
            CompiledGraph& owner, const std::string& kernel_name)
        : resources_(owner.resources()),
          rows_(analysis.rows),
          operations_(analysis.operations + 16),
          length_(scan.length),
          per_individual_(places.per_individual) {
        RowTextOptions options{.math = resources_.math};
        if (resources_.device.limits().software) options.most_expanded = 512;
        if (scan.length < least_interleaved_steps) options.most_interleaved = 0;
        const RowText text = write_row_kernel(scan, analysis, options);
        const std::array constants{group_width};
        pipeline_ = &resources_.pipelines.get(
            kernel_name, resources_.compiler.compile(kernel_name, text.text), constants);
        add_entries(scan, analysis, places, owner, text.interleaved);
        add_entry(text.reports ? owner.status() : places.operands[0]);
        for (const auto& tensor : text.constants) add_entry(owner.table(constant_words(*tensor)));
        if (slots_.size() > RowSlots::direct)
            slot_list_ = owner.reserve(
                2 * static_cast<std::int64_t>(slots_.size() - RowSlots::direct), false);
        table_ = owner.table(entries_);
        table_words_ = static_cast<std::int64_t>(entries_.size());
    }

    void record(vulkan::Recorder& recorder, const Frame& frame) const override {
        const std::int64_t population = per_individual_ ? frame.population : 1;
        const std::int64_t lanes = population * rows_;
        if (lanes > std::numeric_limits<std::uint32_t>::max() - group_width)
            throw DeviceError("cannot run " + std::to_string(lanes) +
                              " rows at once (a kernel counts them in 32 bits) evaluate fewer "
                              "individuals at once");
        vulkan::Push push;
        push.word[RowPush::population] = static_cast<std::uint32_t>(frame.population);
        push.word[RowPush::lanes] = static_cast<std::uint32_t>(lanes);
        push.word[RowPush::length] = static_cast<std::uint32_t>(length_);
        place_slots(recorder, frame, push);
        record_copies(recorder, frame);
        const std::int64_t most = std::max<std::int64_t>(steps_of_dispatch(lanes), 1);
        const std::int64_t dispatches = std::max<std::int64_t>((length_ + most - 1) / most, 1);
        for (std::int64_t i = 0; i < dispatches; ++i)
            dispatch(recorder, frame, push, i, dispatches, most);
    }

  private:
    void add_entries(const ScanAttribute& scan, const RowAnalysis& analysis,
                     const RowPlaces& places, CompiledGraph& owner,
                     const std::vector<std::size_t>& interleaved);
    [[nodiscard]] Place interleave(const Place& operand, std::int64_t elements,
                                   CompiledGraph& owner);
    void record_copies(vulkan::Recorder& recorder, const Frame& frame) const;
    void add_carry(const ScanAttribute& scan, const RowAnalysis& analysis, const RowPlaces& places,
                   CompiledGraph& owner, std::size_t index);
    void add_entry(const Place& place);
    void place_slots(vulkan::Recorder& recorder, const Frame& frame, vulkan::Push& push) const;
    [[nodiscard]] std::int64_t steps_of_dispatch(std::int64_t lanes) const;
    void dispatch(vulkan::Recorder& recorder, const Frame& frame, vulkan::Push& push,
                  std::int64_t number, std::int64_t count, std::int64_t most) const;

    Resources& resources_;
    const vulkan::Pipeline* pipeline_ = nullptr;
    std::int64_t rows_;
    std::int64_t operations_;
    std::int64_t length_;
    bool per_individual_;
    std::vector<std::uint32_t> entries_;
    std::vector<std::uint32_t> slots_;  ///< Of the frame, in the order of the table's numbers.
    Place table_;
    std::int64_t table_words_ = 0;
    Place slot_list_;  ///< Addresses of the slots that the push block has no room for.
    std::vector<Touched> read_;
    std::vector<Touched> written_;
    std::vector<Interleaved> copies_;
    const vulkan::Pipeline* copy_pipeline_ = nullptr;
};

void RowStep::add_entry(const Place& place) {
    const auto found = std::ranges::find(slots_, place.slot);
    const auto number = static_cast<std::uint32_t>(found - slots_.begin());
    if (found == slots_.end()) slots_.push_back(place.slot);
    entries_.push_back(number);
    entries_.push_back(static_cast<std::uint32_t>(place.stride));
    append_word_pair(entries_, place.offset);
    append_word_pair(entries_, place.scaled);
}

// What rows or individuals share is read by all and written by one: a dispatch of a cut scan must
// not write where it reads.
void RowStep::add_carry(const ScanAttribute& scan, const RowAnalysis& analysis,
                        const RowPlaces& places, CompiledGraph& owner, std::size_t index) {
    const ValueId id = scan.body->inputs()[index];
    const ValueInfo& info = scan.body->value(id);
    const std::int64_t elements = info.shape.elements();
    const bool shared = !info.per_individual ||
                        (analysis.rows > 1 && !analysis.has_rows[static_cast<std::size_t>(id)]);
    const Place& result = places.results[index];
    const Place other = shared ? owner.reserve(elements, info.per_individual) : result;
    add_entry(places.operands[index]);
    add_entry(result);
    add_entry(other);
    read_.push_back({places.operands[index], elements});
    written_.push_back({result, elements});
    if (shared) written_.push_back({other, elements});
}

void RowStep::add_entries(const ScanAttribute& scan, const RowAnalysis& analysis,
                          const RowPlaces& places, CompiledGraph& owner,
                          const std::vector<std::size_t>& interleaved) {
    const auto carries = static_cast<std::size_t>(scan.carries);
    const auto sequences = carries + static_cast<std::size_t>(scan.sequences);
    for (std::size_t i = 0; i < carries; ++i) add_carry(scan, analysis, places, owner, i);
    for (std::size_t i = carries; i < places.operands.size(); ++i) {
        const std::int64_t words = scan.body->value(scan.body->inputs()[i]).shape.elements();
        const bool copied = std::ranges::find(interleaved, i) != interleaved.end();
        const Place place =
            copied ? interleave(places.operands[i], words, owner) : places.operands[i];
        add_entry(place);
        if (!copied) read_.push_back({place, i < sequences ? words * scan.length : words});
    }
    for (std::size_t i = carries; i < places.results.size(); ++i) {
        const std::int64_t words = scan.body->value(scan.body->outputs()[i]).shape.elements();
        add_entry(places.results[i]);
        written_.push_back({places.results[i], words * scan.length});
    }
}

Place RowStep::interleave(const Place& operand, std::int64_t elements, CompiledGraph& owner) {
    const Place whole = owner.reserve(elements, true);
    copies_.push_back({operand, whole, elements});
    const std::array constants{copy_width};
    copy_pipeline_ = &resources_.pipelines.get(
        "interleave", resources_.compiler.compile("interleave", std::string(interleave_text)),
        constants);
    Place entry = whole;
    entry.stride = 0;
    return entry;
}

void RowStep::record_copies(vulkan::Recorder& recorder, const Frame& frame) const {
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

void RowStep::place_slots(vulkan::Recorder& recorder, const Frame& frame,
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

std::int64_t RowStep::steps_of_dispatch(std::int64_t lanes) const {
    const bool software = resources_.device.limits().software;
    const double work = static_cast<double>(operations_) *
                        (software ? static_cast<double>(lanes)
                                  : std::max(static_cast<double>(lanes), device_lanes));
    const double steps =
        resources_.longest_dispatch * (software ? software_speed : device_speed) / work;
    return steps < static_cast<double>(length_) ? static_cast<std::int64_t>(steps) : length_;
}

void RowStep::dispatch(vulkan::Recorder& recorder, const Frame& frame, vulkan::Push& push,
                       std::int64_t number, std::int64_t count, std::int64_t most) const {
    // The last dispatch writes to the results, place 1.
    const auto place = [&](std::int64_t i) { return (count - 1 - i) % 2 == 0 ? 1U : 2U; };
    const std::int64_t first = number * most;
    push.word[RowPush::first_step] = static_cast<std::uint32_t>(first);
    push.word[RowPush::steps] = static_cast<std::uint32_t>(std::min(most, length_ - first));
    push.word[RowPush::read_place] = number == 0 ? 0U : place(number - 1);
    push.word[RowPush::write_place] = place(number);
    std::vector<vulkan::Range> reads{frame.range(table_, table_words_)};
    if (slots_.size() > RowSlots::direct)
        reads.push_back(frame.range(
            slot_list_, 2 * static_cast<std::int64_t>(slots_.size() - RowSlots::direct)));
    std::vector<vulkan::Range> writes;
    for (const Touched& touched : read_)
        reads.push_back(frame.range(touched.place, touched.elements));
    for (const Interleaved& copy : copies_) reads.push_back(frame.range(copy.to, copy.elements));
    for (const Touched& touched : written_)
        writes.push_back(frame.range(touched.place, touched.elements));
    if (number > 0) reads.insert(reads.end(), writes.begin(), writes.end());
    const auto lanes = std::uint64_t{push.word[RowPush::lanes]};
    recorder.dispatch(*pipeline_, push, (lanes + group_width - 1) / group_width, reads, writes);
}

}  // namespace

std::unique_ptr<Step> make_row_step(const ScanAttribute& scan, const RowAnalysis& analysis,
                                    const RowPlaces& places, CompiledGraph& owner,
                                    const std::string& kernel_name) {
    return std::make_unique<RowStep>(scan, analysis, places, owner, kernel_name);
}

}  // namespace cambrian::gpu
