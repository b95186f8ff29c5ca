#include "cambrian/engine/network/bytecode/neuron_table.hpp"

#include <bit>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/network/bytecode/bytecode_table.hpp"

namespace cambrian {
namespace {

constexpr std::int32_t fill = -1;  // No word of a layer's weights.

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
    Places(const Neurons& layer, const NeuronPlan& plan)
        : layer_(layer), plan_(plan), values_(layer.neurons.size()) {
        std::int64_t next = 1 + plan.state_words;
        for (const std::int64_t neuron : plan.order)
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

float NeuronTable::time_step() const {
    return std::bit_cast<float>(words_[3]);
}

std::int64_t NeuronTable::one() const {
    return instruction_->result + whole_blocks(instruction_->out);
}

const std::int32_t* NeuronTable::next_state() const {
    return outputs() + instruction_->out;
}

std::int64_t NeuronTableWriter::write(const Neurons& layer, std::vector<std::int32_t>& table,
                                      std::vector<std::int32_t>& gather) {
    const NeuronPlan plan(layer);
    const Places places(layer, plan);
    const std::size_t begin = table.size();
    const auto step = static_cast<float>(layer.time_step);
    const auto biases = static_cast<std::int64_t>(layer.connections.size());
    const auto time_constants = biases + static_cast<std::int64_t>(layer.neurons.size());
    table.insert(table.end(), {word(std::ssize(plan.order)), word(plan.state_words), 0,
                               layer.continuous ? std::bit_cast<std::int32_t>(step) : 0});
    for (const std::int64_t neuron : plan.order) {
        const auto inputs = plan.inputs(neuron);
        const auto& [activation, aggregation] = layer.neurons[static_cast<std::size_t>(neuron)];
        CAMBRIAN_ASSERT(std::ssize(inputs) <= NeuronTable::most_inputs);
        table.push_back(static_cast<std::int32_t>(static_cast<std::uint32_t>(inputs.size()) |
                                                  static_cast<std::uint32_t>(activation) << 16U |
                                                  static_cast<std::uint32_t>(aggregation) << 24U));
        gather.push_back(word(biases + neuron));
        if (layer.continuous) {
            table.push_back(places.state(plan.place(layer.in + neuron, 1)));
            gather.push_back(word(time_constants + neuron));
        }
        for (const std::int64_t input : inputs) {
            table.push_back(places.of(layer.connections[static_cast<std::size_t>(input)]));
            gather.push_back(word(input));
        }
        for (; gather.size() % 4 != 0; gather.push_back(fill)) table.push_back(Places::one());
    }
    table[begin + 2] = word(std::ssize(gather));
    for (std::int64_t i = 0; i < layer.out; ++i) table.push_back(places.now(layer.in + i));
    for (const auto& [source, first, length] : plan.memories) {
        table.push_back(places.now(source));
        for (std::int64_t i = 1; i < length; ++i) table.push_back(places.state(first + i - 1));
    }
    while ((table.size() - begin) % bytecode_instruction_words != 0) table.push_back(Places::one());
    return places.words();
}

void NeuronTableWriter::place(const BytecodeInstruction& instruction,
                              std::span<std::int32_t> table) {
    const auto first =
        static_cast<std::int32_t>(instruction.result + whole_blocks(instruction.out));
    const auto place = [&](std::int32_t& each) {
        each = each < 0 ? first - 1 - each : instruction.source + each;
    };
    const bool continuous = table[3] != 0;
    const auto records_end = static_cast<std::size_t>(NeuronTable::head_words + table[2]);
    std::size_t at = NeuronTable::head_words;
    while (at < records_end) {
        const std::size_t inputs = static_cast<std::uint32_t>(table[at]) & 0xFFFFU;
        const std::size_t end = at + (inputs + (continuous ? 2 : 1) + 3) / 4 * 4;
        while (++at < end) place(table[at]);
    }
    for (; at < table.size(); ++at) place(table[at]);
}

bool neurons_fit(const BytecodeInstruction& instruction, std::int64_t words,
                 const BytecodeCapacity& capacity) {
    const std::int64_t length = instruction.detail;
    if (length < NeuronTable::head_words || length % bytecode_instruction_words != 0 ||
        bytecode_instruction_words + length > words || instruction.out < 0 ||
        instruction.result < 0 || instruction.result > capacity.memory)
        return false;
    const NeuronTable table(instruction);
    if (table.neurons() < 0 || table.state() < 0 || table.weights() < 0 ||
        table.end() > capacity.memory ||
        NeuronTable::head_words + table.weights() + instruction.out + table.state() > length)
        return false;
    if (table.state() > 0 &&
        (instruction.other < 0 || instruction.other + table.state() > capacity.state))
        return false;
    const std::int32_t* at = table.first_record();
    const std::int32_t* const end = table.outputs();
    for (std::int64_t i = 0; i < table.neurons(); ++i) {
        if (at >= end) return false;
        const NeuronTable::Record record = table.record(at);
        if (record.words > end - at || !inside(at + 1, record.words - 1, capacity.memory) ||
            record.activation >= std::ssize(neuron_activation_names) ||
            record.aggregation >= std::ssize(neuron_aggregation_names))
            return false;
        at += record.words;
    }
    return at == end && inside(end, instruction.out + table.state(), capacity.memory);
}

}  // namespace cambrian
