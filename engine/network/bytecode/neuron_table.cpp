#include "cambrian/engine/network/bytecode/neuron_table.hpp"

#include <algorithm>
#include <bit>
#include <optional>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/network/bytecode/bytecode_table.hpp"
#include "cambrian/engine/network/bytecode/neuron_turns.hpp"

namespace cambrian {
namespace {

constexpr std::int32_t fill = -1;  // No word of a layer's weights.
constexpr std::int64_t half = NeuronTable::record_unit / 2;
static_assert(NeuronTurns::words_of_two == NeuronTable::record_unit);
constexpr std::uint32_t plastic_mark = 0x80000000U;

std::int32_t word(std::int64_t value) {
    CAMBRIAN_ASSERT(value >= 0 && value <= INT32_MAX);
    return static_cast<std::int32_t>(value);
}
/// Word n after the result, before it has a place.
std::int32_t after_result(std::int64_t n) {
    return -1 - word(n);
}

/// The places of a layer's values after those of its result: a 1, the state, the neurons.
class Places {
  public:
    Places(const Neurons& layer, const NeuronPlan& plan, const NeuronTurns& turns)
        : layer_(layer), plan_(plan), values_(layer.neurons.size()) {
        std::int64_t next = 1 + plan.state_words;
        for (const auto& [first, second, joins] : turns.turns())
            for (const std::int64_t neuron : {first, second})
                if (neuron != NeuronTurns::none)
                    values_[static_cast<std::size_t>(neuron)] = after_result(next++);
        words_ = next;
    }
    [[nodiscard]] static std::int32_t one() { return after_result(0); }
    [[nodiscard]] std::int32_t state(std::int64_t place) const { return after_result(1 + place); }
    [[nodiscard]] std::int32_t now(std::int64_t source) const {
        if (source == Neurons::constant) return one();
        if (source < layer_.in) return word(source);
        return values_[static_cast<std::size_t>(source - layer_.in)];
    }
    [[nodiscard]] std::int32_t of(const Neurons::Connection& from) const {
        const bool past = from.delay > 0 && from.source != Neurons::constant;
        return past ? state(plan_.place(from.source, from.delay)) : now(from.source);
    }
    [[nodiscard]] std::int64_t words() const { return words_; }

  private:
    const Neurons& layer_;
    const NeuronPlan& plan_;
    std::vector<std::int32_t> values_;
    std::int64_t words_ = 0;
};

/// Whether places lie in [0, end).
bool inside(const std::int32_t* places, std::int64_t count, std::int64_t end) {
    for (std::int64_t i = 0; i < count; ++i)
        if (places[i] < 0 || places[i] >= end) return false;
    return true;
}

}  // namespace

float NeuronTable::Record::largest_weight() const {
    return std::bit_cast<float>(changes()[inputs]);
}

float NeuronTable::time_step() const {
    return std::bit_cast<float>(words_[3]);
}

std::int64_t NeuronTable::one() const {
    return instruction_->result + whole_blocks(instruction_->out);
}

const std::int32_t* NeuronTable::next_state() const {
    return outputs() + instruction_->out;
}

namespace {

/// The smallest set that has a neuron.
NeuronSet set_of(std::int64_t activation, std::int64_t aggregation, bool continuous, bool plastic) {
    constexpr auto last = static_cast<std::int64_t>(NeuronActivation::steep_sigmoid);
    static_assert(last == common_activations);
    constexpr auto sum = static_cast<std::int64_t>(NeuronAggregation::sum);
    if (plastic) return NeuronSet::plastic;
    return activation <= last && aggregation == sum && !continuous ? NeuronSet::sums
                                                                   : NeuronSet::any;
}

/// Writes the records of one layer's neurons.
class Records {
  public:
    Records(const Neurons& layer, const NeuronPlan& plan, const Places& places,
            std::vector<std::int32_t>& table, std::vector<std::int32_t>& gather)
        : layer_(layer), plan_(plan), places_(places), table_(table), gather_(gather) {
        if (!layer.plastic) return;
        changes_.resize(layer.neurons.size());
        for (std::int64_t change = 0; const std::int64_t neuron : plan.order) {
            changes_[static_cast<std::size_t>(neuron)] = change;
            for (const std::int64_t input : plan.inputs(neuron))
                change += connection(input).plastic;
        }
    }

    /// Those of all neurons. → the smallest set that has them.
    NeuronSet write(const NeuronTurns& turns) {
        for (const auto& [first, second, joins] : turns.turns()) {
            const std::uint32_t joins_next = joins ? NeuronTable::joins_mark : 0U;
            if (second == NeuronTurns::none) {
                write(first, joins_next, NeuronTable::record_unit);
                continue;
            }
            const std::int64_t words = std::max(half, before_inputs_ + inputs(first));
            const std::uint32_t marks =
                NeuronTable::half_mark | (words > half ? NeuronTable::uneven_mark : 0U);
            write(first, marks | NeuronTable::joins_mark, words);
            write(second, marks | joins_next, NeuronTable::record_unit - words);
        }
        return set_;
    }

  private:
    [[nodiscard]] std::int64_t inputs(std::int64_t neuron) const {
        return std::ssize(plan_.inputs(neuron));
    }
    /// @param unit what the words of the record are a multiple of.
    void write(std::int64_t neuron, std::uint32_t marks, std::int64_t unit) {
        const std::size_t begin = gather_.size();
        const auto inputs = plan_.inputs(neuron);
        const auto& [activation, aggregation] = layer_.neurons[static_cast<std::size_t>(neuron)];
        CAMBRIAN_ASSERT(std::ssize(inputs) <= NeuronTable::input_limit);
        const bool plastic = plan_.changes(layer_, neuron);
        set_ = std::max(set_,
                        set_of(static_cast<std::int64_t>(activation),
                               static_cast<std::int64_t>(aggregation), layer_.continuous, plastic));
        const std::uint32_t head = static_cast<std::uint32_t>(inputs.size()) |
                                   static_cast<std::uint32_t>(activation) << 16U |
                                   static_cast<std::uint32_t>(aggregation) << 24U | marks |
                                   (plastic ? plastic_mark : 0U);
        add(static_cast<std::int32_t>(head), own(neuron, 0));
        if (layer_.continuous)
            add(places_.state(plan_.place(layer_.in + neuron, 1)), own(neuron, 1));
        for (const std::int64_t input : inputs) add(places_.of(connection(input)), word(input));
        if (plastic) add_rule(neuron, inputs);
        while (static_cast<std::int64_t>(gather_.size() - begin) % unit != 0)
            add(Places::one(), fill);
    }
    [[nodiscard]] const Neurons::Connection& connection(std::int64_t number) const {
        return layer_.connections[static_cast<std::size_t>(number)];
    }
    /// The word of a neuron in one of the parameters that neurons have.
    [[nodiscard]] std::int32_t own(std::int64_t neuron, std::int64_t parameter) const {
        return word(std::ssize(layer_.connections) + parameter * std::ssize(layer_.neurons) +
                    neuron);
    }
    void add(std::int32_t place, std::int32_t weight) {
        table_.push_back(place);
        gather_.push_back(weight);
    }
    void add_rule(std::int64_t neuron, std::span<const std::int64_t> inputs) {
        std::int64_t change = plan_.first_change + changes_[static_cast<std::size_t>(neuron)];
        for (const std::int64_t input : inputs)
            add(connection(input).plastic ? places_.state(change++) : Places::one(), fill);
        const auto limit = static_cast<float>(layer_.largest_weight);
        for (std::int64_t i = 0; i < Neurons::rule_numbers; ++i)
            add(i == 0 ? std::bit_cast<std::int32_t>(limit) : Places::one(),
                own(neuron, before_inputs_ + i));
    }

    const Neurons& layer_;
    const NeuronPlan& plan_;
    const Places& places_;
    std::vector<std::int32_t>& table_;
    std::vector<std::int32_t>& gather_;
    std::int64_t before_inputs_ = NeuronTable::before_inputs(layer_.continuous);
    std::vector<std::int64_t> changes_;  ///< Of plastic connections before those of each neuron.
    NeuronSet set_ = NeuronSet::sums;
};

}  // namespace

NeuronTableWriter::Written NeuronTableWriter::write(const Neurons& layer,
                                                    std::vector<std::int32_t>& table,
                                                    std::vector<std::int32_t>& gather) {
    const NeuronPlan plan(layer);
    const NeuronTurns turns(layer, plan);
    const Places places(layer, plan, turns);
    const std::size_t begin = table.size();
    const auto step = static_cast<float>(layer.time_step);
    table.insert(table.end(), {word(std::ssize(plan.order)), word(plan.state_words), 0,
                               layer.continuous ? std::bit_cast<std::int32_t>(step) : 0});
    const NeuronSet neurons = Records(layer, plan, places, table, gather).write(turns);
    table[begin + 2] = word(std::ssize(gather));
    for (std::int64_t i = 0; i < layer.out; ++i) table.push_back(places.now(layer.in + i));
    for (const auto& [source, first, length] : plan.memories) {
        table.push_back(places.now(source));
        for (std::int64_t i = 1; i < length; ++i) table.push_back(places.state(first + i - 1));
    }
    for (std::int64_t i = plan.first_change; i < plan.state_words; ++i)
        table.push_back(places.state(i));
    while ((table.size() - begin) % bytecode_instruction_words != 0) table.push_back(Places::one());
    return {.words = places.words(), .neurons = neurons};
}

void NeuronTableWriter::place(const BytecodeInstruction& instruction,
                              std::span<std::int32_t> table) {
    const auto first =
        static_cast<std::int32_t>(instruction.result + whole_blocks(instruction.out));
    const auto place = [&](std::int32_t& each) {
        each = each < 0 ? first - 1 - each : instruction.source + each;
    };
    const std::int64_t before_inputs = NeuronTable::before_inputs(table[3] != 0);
    const auto records_end = static_cast<std::size_t>(NeuronTable::head_words + table[2]);
    std::size_t at = NeuronTable::head_words;
    while (at < records_end) {
        const std::int64_t inputs = static_cast<std::uint32_t>(table[at]) & 0xFFFFU;
        const auto end =
            at + static_cast<std::size_t>(NeuronTable::record_words(table[at], before_inputs));
        // The largest weight is no place.
        const auto limit =
            table[at] < 0 ? at + static_cast<std::size_t>(before_inputs + 2 * inputs) : end;
        while (++at < end)
            if (at != limit) place(table[at]);
    }
    for (; at < table.size(); ++at) place(table[at]);
}

namespace {

/// Whether the places of a record lie inside the memory. Its length does.
bool places_inside(const NeuronTable::Record& record, const std::int32_t* at,
                   const BytecodeCapacity& capacity) {
    if (!record.plastic) return inside(at + 1, record.words - 1, capacity.memory);
    if (record.inputs == 0) return false;
    const std::int32_t* const limit = record.changes() + record.inputs;
    return inside(at + 1, limit - (at + 1), capacity.memory);
}

/// Whether a record may have the length it says it has.
bool is_whole(const NeuronTable::Record& record, std::int64_t before_inputs) {
    if (!record.half) return !record.uneven;
    const bool may_be_uneven = record.aggregation == 0 && before_inputs == 1;
    return !record.plastic && (!record.uneven || may_be_uneven) &&
           before_inputs + record.inputs <= record.words;
}

/// Whether a record may come after that of the first of two.
bool go_together(const NeuronTable::Record& first, const NeuronTable::Record& second) {
    return first.joins && second.half && first.uneven == second.uneven &&
           first.words + second.words == NeuronTable::record_unit && first.words >= second.words;
}

/// Whether what a neuron computes is in a set.
bool in_set(const NeuronTable::Record& record, bool continuous, NeuronSet set) {
    return record.activation < std::ssize(neuron_activation_names) &&
           record.aggregation < std::ssize(neuron_aggregation_names) &&
           set >= set_of(record.activation, record.aggregation, continuous, record.plastic);
}

/// Whether a record with one head may join that with the next: they say the same but for the
/// inputs, what joins and how long they are, and nobody who goes alone joins two who go together.
bool may_join(std::int32_t head, std::int32_t next) {
    const auto a = static_cast<std::uint32_t>(head);
    const auto b = static_cast<std::uint32_t>(next);
    constexpr std::uint32_t of_one =
        NeuronTable::joins_mark | NeuronTable::half_mark | NeuronTable::uneven_mark | 0xFFFFU;
    return ((a ^ b) & ~of_one) == 0 && (a & NeuronTable::half_mark) >= (b & NeuronTable::half_mark);
}

}  // namespace

bool neurons_fit(const BytecodeInstruction& instruction, std::int64_t words,
                 const BytecodeCapacity& capacity) {
    const std::int64_t length = instruction.detail;
    if (capacity.neurons == NeuronSet::none || length < NeuronTable::head_words ||
        length % bytecode_instruction_words != 0 || bytecode_instruction_words + length > words ||
        instruction.out < 0 || instruction.result < 0 || instruction.result > capacity.memory)
        return false;
    const NeuronTable table(instruction);
    if (table.neurons() <= 0 || table.state() < 0 || table.weights() < 0 ||
        table.end() > capacity.memory ||
        NeuronTable::head_words + table.weights() + instruction.out + table.state() > length)
        return false;
    if (table.state() > 0 &&
        (instruction.other < 0 || instruction.other + table.state() > capacity.state))
        return false;
    const std::int32_t* at = table.first_record();
    const std::int32_t* const end = table.outputs();
    const std::int32_t* joined = nullptr;            // The one before, where that joins this one.
    std::optional<NeuronTable::Record> half_of_two;  // The one before, where it is the first.
    for (std::int64_t i = 0; i < table.neurons(); ++i) {
        if (at >= end) return false;
        const NeuronTable::Record record = table.record(at);
        if (record.words > end - at || !is_whole(record, table.before_inputs()) ||
            (half_of_two ? !go_together(*half_of_two, record) : record.half && !record.joins) ||
            !places_inside(record, at, capacity) ||
            !in_set(record, table.continuous(), capacity.neurons) ||
            (joined != nullptr && !may_join(*joined, *at)))
            return false;
        half_of_two = record.half && !half_of_two ? std::optional(record) : std::nullopt;
        joined = record.joins ? at : nullptr;
        at += record.words;
    }
    return at == end && joined == nullptr && !half_of_two &&
           inside(end, instruction.out + table.state(), capacity.memory);
}

}  // namespace cambrian
