#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cambrian/engine/network/forward_model.hpp"
#include "cambrian/engine/network/network.hpp"

namespace cambrian {

/// The instructions of a bytecode. One row of the bytecode table (bytecode_table.cpp) each.
enum class BytecodeOp : std::int32_t {
    end,
    dense,
    rnn,
    rms_norm,
    layer_norm,
    softmax,
    add,
    scale_add,
    project_add,
    load_state,
    store_state,
    neurons,
    count_,
};

/// One instruction, eight words; `neurons` is followed by a table (NeuronTable). Vectors lie in a
/// working memory of one row: the row itself at 0, what instructions compute after it or where
/// nothing is needed any more. Every vector begins at a multiple of four and has room up to the
/// next one. What each word means for each op is in the bytecode table.
struct BytecodeInstruction {
    BytecodeOp op = BytecodeOp::end;
    std::int32_t result = 0;  ///< First word of the result in memory.
    std::int32_t source = 0;  ///< First word of the operand in memory.
    std::int32_t other = 0;   ///< Of the second operand, a place in the state, or the bits of 1/in.
    std::int32_t in = 0;      ///< Width of the operand.
    std::int32_t out = 0;     ///< Width of the result.
    std::int32_t weights = 0;  ///< First word in the packed weights (a multiple of 4).
    std::int32_t detail =
        0;  ///< Activation code, the bits of an epsilon, or words of a table or of all weights.
};
inline constexpr std::int64_t bytecode_instruction_words = 8;

/// Words of an instruction and of the table after it.
[[nodiscard]] inline std::int64_t bytecode_length(const BytecodeInstruction& instruction) {
    const bool has_table = instruction.op == BytecodeOp::neurons;
    return bytecode_instruction_words + (has_table ? instruction.detail : 0);
}
/// The instruction after one that lies in a bytecode.
[[nodiscard]] inline const BytecodeInstruction* next(const BytecodeInstruction* instruction) {
    return instruction + bytecode_length(*instruction) / bytecode_instruction_words;
}

/// The smallest power of two from a minimum on, or one and a half of one, that is enough: few
/// different sizes occur while what they are for grows.
[[nodiscard]] std::int64_t generous(std::int64_t value, std::int64_t minimum);

/// What a bytecode needs; a compiled graph serves every bytecode that fits.
struct BytecodeCapacity {
    std::int64_t words = 0;    ///< Of the bytecode.
    std::int64_t weights = 0;  ///< Packed, with padding.
    std::int64_t state = 0;    ///< Of one row.
    std::int64_t memory = 0;   ///< Working words of one row.
    NeuronSet neurons = NeuronSet::none;
    ActivationSet activations = ActivationSet::common;  ///< Of dense layers.
    bool operator==(const BytecodeCapacity&) const = default;
    /// Each the larger of both.
    [[nodiscard]] BytecodeCapacity joined(const BytecodeCapacity& other) const;
    /// Rounded up, each to a power of two or one and a half of one from a generous minimum (no
    /// state stays none), so that few different ones occur while networks grow: a GPU idles while
    /// its driver compiles for another memory or state, and is slow for a second after it.
    /// Multiples of 4.
    [[nodiscard]] BytecodeCapacity rounded() const;
};

/// What Op::interpret serves, by its attribute and the shapes of its operands.
[[nodiscard]] BytecodeCapacity capacity_of(const InterpretAttribute& interpret,
                                           const Shape& bytecode, const Shape& weights,
                                           const Shape& state);

/// A network as data: what Op::interpret runs. Disabled slots are left out, with their states,
/// which nobody would read; the output of the head comes last. Matrices are packed for vector
/// loads: blocks of four outputs, for each input the four weights side by side, then the four
/// biases; outputs are padded to a multiple of four with zeros. A bias that is missing is -0, which
/// changes no sum. Same results as the graph form in every bit under strict math.
struct Bytecode {
    std::vector<std::int32_t> words;  ///< Instructions; ends with BytecodeOp::end.
    BytecodeCapacity capacity;
};

/// Where the weights of one instruction come from and go to.
struct BytecodePacking {
    BytecodeOp op = BytecodeOp::end;
    bool bias = true;  ///< Whether the layer has one.
    std::int32_t in = 0;
    std::int32_t out = 0;
    std::int64_t from = 0;  ///< First word in the order of Network::weights().
    std::int64_t to = 0;    ///< First word in the packed weights.
    /// Of neurons: the word after `from` that each packed word is; below 0: one that fills up.
    std::vector<std::int32_t> gather{};
};
/// Packs weights with the packings of one bytecode.
void pack(std::span<const BytecodePacking> packings, std::span<const float> weights,
          std::span<float> packed);

[[nodiscard]] Bytecode make_bytecode(const Network& network);
/// Writes a genome's weights in the order of its bytecode. `packed` has capacity.weights words and
/// is filled whole.
void pack_weights(const Network& network, std::span<const float> weights, std::span<float> packed);

/// Any network whose bytecode fits a capacity, as one op of a graph: operands.activations is the
/// bytecode, integer [capacity.words], operands.weights the packed weights, [capacity.weights] or
/// more where networks share one vector and each bytecode says where its own begin. A graph made
/// with it never changes when networks mutate.
class BytecodeNetwork final : public ForwardModel {
  public:
    /// @param capacity as BytecodeCapacity::rounded gives it: multiples of four.
    BytecodeNetwork(std::int64_t input_features, std::int64_t output_features,
                    const BytecodeCapacity& capacity);

    [[nodiscard]] std::int64_t input_features() const override { return input_features_; }
    /// One tensor for all states there are, or none.
    [[nodiscard]] std::span<const StateSpec> state() const override { return state_; }
    [[nodiscard]] Var apply(Var x, const NetworkOperands& operands) const override;
    [[nodiscard]] StepResult step(Var x, std::span<const Var> state,
                                  const NetworkOperands& operands) const override;
    [[nodiscard]] const BytecodeCapacity& capacity() const { return capacity_; }

  private:
    [[nodiscard]] StepResult interpret(Var rows, Var state, const NetworkOperands& operands) const;

    std::int64_t input_features_;
    std::int64_t output_features_;
    BytecodeCapacity capacity_;
    std::vector<StateSpec> state_;
};

}  // namespace cambrian
