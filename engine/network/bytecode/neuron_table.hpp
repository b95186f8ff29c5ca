#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cambrian/engine/layers/neurons.hpp"
#include "cambrian/engine/network/bytecode/bytecode.hpp"

namespace cambrian {

/// What follows an instruction `neurons`, detail words in fours: a head, a record for each neuron
/// in the order they are computed in, the places of the outputs [out], and the places of the values
/// that become the state. Places are words of the working memory; after the words of the result,
/// filled up to fours, there lie a 1, the state, and the values of the neurons.
///
///     head    neurons, words of the state, words of the weights, bits of the time step (0: none)
///     record  inputs | activation << 16 | aggregation << 24 | uneven << 28 | half << 29
///             | joins << 30, where continuous the place of the neuron's last value, the place of
///             each input, and that of the 1 to fill up eights
///
/// A neuron that joins the next one may be computed along with it (NeuronTurns::Turn::joins). Two
/// of a turn share an eight: half of it each or, where both are marked uneven, five words for the
/// first, of four inputs, and three for the second; no other record begins in the middle of one.
/// The weights of a record are its bias, where continuous its time constant, and those of its
/// inputs; -0 fills up, which times the 1 changes no sum.
///
/// The head of a record of a neuron with plastic connections has its sign bit set. After the places
/// of its inputs there are those of their changes in the state (that of the 1 for an input that is
/// not plastic), which the step writes anew, then the bits of the largest weight and four words for
/// nothing. Its weights have as many words for nothing in place of the changes, then the rule.
class NeuronTable {
  public:
    /// Of an instruction in a bytecode.
    explicit NeuronTable(const BytecodeInstruction& instruction)
        : instruction_(&instruction),
          words_(reinterpret_cast<const std::int32_t*>(&instruction + 1)) {}

    static constexpr std::int64_t head_words = 4;
    static constexpr std::uint32_t joins_mark = 0x40000000U;
    static constexpr std::uint32_t half_mark = 0x20000000U;
    static constexpr std::uint32_t uneven_mark = 0x10000000U;
    static constexpr std::int64_t record_unit = 8;
    static constexpr std::int64_t input_limit = (1 << 16) - 1;

    [[nodiscard]] std::int64_t neurons() const { return words_[0]; }
    [[nodiscard]] std::int64_t state() const { return words_[1]; }
    [[nodiscard]] std::int64_t weights() const { return words_[2]; }
    [[nodiscard]] bool continuous() const { return words_[3] != 0; }
    [[nodiscard]] float time_step() const;
    /// Words of a record before its inputs, as many as weights before those of its inputs.
    [[nodiscard]] std::int64_t before_inputs() const { return before_inputs(continuous()); }
    [[nodiscard]] static std::int64_t before_inputs(bool continuous) { return continuous ? 2 : 1; }

    /// Places of the 1, of the state, of the first neuron's value, and of what follows the last.
    [[nodiscard]] std::int64_t one() const;
    [[nodiscard]] std::int64_t first_state() const { return one() + 1; }
    [[nodiscard]] std::int64_t first_value() const { return first_state() + state(); }
    [[nodiscard]] std::int64_t end() const { return first_value() + neurons(); }

    /// One record. The next one is `words` words on.
    struct Record {
        std::int64_t inputs = 0;
        std::int32_t activation = 0;
        std::int32_t aggregation = 0;
        const std::int32_t* places = nullptr;  ///< Of its inputs.
        std::int64_t words = 0;
        bool plastic = false;
        bool joins = false;
        bool half = false;
        bool uneven = false;

        /// Of a plastic one: places of the changes of its inputs, and the largest weight.
        [[nodiscard]] const std::int32_t* changes() const { return places + inputs; }
        [[nodiscard]] float largest_weight() const;
        /// Where its rule begins among its weights after those of its inputs.
        [[nodiscard]] std::int64_t rule() const { return 2 * inputs; }
    };
    [[nodiscard]] const std::int32_t* first_record() const { return words_ + head_words; }
    [[nodiscard]] Record record(const std::int32_t* at) const {
        const auto head = static_cast<std::uint32_t>(at[0]);
        const std::int64_t inputs = head & 0xFFFFU;
        const bool plastic = at[0] < 0;
        return {.inputs = inputs,
                .activation = static_cast<std::int32_t>(head >> 16U & 0xFFU),
                .aggregation = static_cast<std::int32_t>(head >> 24U & 0xFU),
                .places = at + before_inputs(),
                .words = record_words(at[0], before_inputs()),
                .plastic = plastic,
                .joins = (head & joins_mark) != 0,
                .half = (head & half_mark) != 0,
                .uneven = (head & uneven_mark) != 0};
    }
    /// Words of a record with this head.
    [[nodiscard]] static std::int64_t record_words(std::int32_t head, std::int64_t before_inputs) {
        const std::int64_t inputs = static_cast<std::uint32_t>(head) & 0xFFFFU;
        if ((static_cast<std::uint32_t>(head) & half_mark) != 0) {
            constexpr std::int64_t half = record_unit / 2;
            if ((static_cast<std::uint32_t>(head) & uneven_mark) == 0) return half;
            return inputs < half ? half - 1 : half + 1;
        }
        const std::int64_t rule = head < 0 ? inputs + Neurons::rule_numbers : 0;
        return (before_inputs + inputs + rule + record_unit - 1) / record_unit * record_unit;
    }
    /// Places of the outputs, then of what becomes the state. As many words as weights are records.
    [[nodiscard]] const std::int32_t* outputs() const { return first_record() + weights(); }
    [[nodiscard]] const std::int32_t* next_state() const;

  private:
    const BytecodeInstruction* instruction_;
    const std::int32_t* words_;
};

/// Writes tables. What belongs to the result and to the operand has a place only when all vectors
/// have: until then places are numbers of inputs, or -1 - n for word n after the result.
class NeuronTableWriter {
  public:
    struct Written {
        std::int64_t words = 0;  ///< After those of the result.
        NeuronSet neurons = NeuronSet::sums;
    };
    /// Appends the table of a resolved layer, and fills the packing that gathers its weights.
    static Written write(const Neurons& layer, std::vector<std::int32_t>& table,
                         std::vector<std::int32_t>& gather);
    /// Gives the places of a table behind its instruction.
    static void place(const BytecodeInstruction& instruction, std::span<std::int32_t> table);
};

/// Whether what the table of an instruction `neurons` says lies inside it and a capacity.
[[nodiscard]] bool neurons_fit(const BytecodeInstruction& instruction, std::int64_t words,
                               const BytecodeCapacity& capacity);

}  // namespace cambrian
