#include "cambrian/engine/network/bytecode/bytecode_table.hpp"

#include <algorithm>

#include "cambrian/engine/core/prefetch.hpp"
#include "cambrian/engine/core/simd/lanes.hpp"
#include "cambrian/engine/network/bytecode/neuron_table.hpp"

namespace cambrian {
namespace {

constexpr std::int64_t block = 4;
/// Each number of a population is read and written once: asked for so far ahead of its use.
constexpr std::int64_t numbers_ahead = 1024;

std::int64_t no_weights(std::int64_t, std::int64_t) {
    return 0;
}
std::int64_t dense_weights(std::int64_t in, std::int64_t out) {
    return whole_blocks(out) * (in + 1);
}
std::int64_t rnn_weights(std::int64_t in, std::int64_t out) {
    return whole_blocks(out) * (in + out + 1);
}
std::int64_t vector_weights(std::int64_t, std::int64_t out) {
    return whole_blocks(out);
}
std::int64_t two_vectors_weights(std::int64_t, std::int64_t out) {
    return 2 * whole_blocks(out);
}
std::int64_t matrix_weights(std::int64_t in, std::int64_t out) {
    return whole_blocks(out) * in;
}

/// A matrix [out, in] as blocks of four outputs, `stride` words apart.
void pack_matrix(const float* matrix, std::int64_t in, std::int64_t out, float* to,
                 std::int64_t stride) {
    std::int64_t row = 0;
    for (; row + block <= out; row += block, to += stride) {
        const float* const rows = matrix + row * in;
        std::int64_t k = 0;
        for (; k + block <= in; k += block) {
            prefetch(rows + numbers_ahead + block * k);
            prefetch(to + numbers_ahead + block * k);
            cpu::transpose_block(rows + k, in, to + block * k);
        }
        for (; k < in; ++k)
            for (std::int64_t j = 0; j < block; ++j) to[block * k + j] = rows[j * in + k];
    }
    if (row == out) return;
    std::fill_n(to, block * in, 0.0F);
    for (std::int64_t j = 0; j < out - row; ++j)
        for (std::int64_t k = 0; k < in; ++k) to[block * k + j] = matrix[(row + j) * in + k];
}

/// A vector in fours, `stride` words apart, padded with zeros.
void pack_vector(const float* vector, std::int64_t out, float* to, std::int64_t stride) {
    std::int64_t row = 0;
    for (; row + block <= out; row += block, to += stride) std::copy_n(vector + row, block, to);
    if (row == out) return;
    for (std::int64_t j = 0; j < block; ++j) to[j] = row + j < out ? vector[row + j] : 0.0F;
}

void pack_nothing(const BytecodeWeights&) {}

void pack_bias(const BytecodeWeights& weights, const float* bias, float* to, std::int64_t stride) {
    if (weights.bias) {
        pack_vector(bias, weights.out, to, stride);
        return;
    }
    for (std::int64_t row = 0; row < weights.out; row += block, to += stride)
        std::fill_n(to, block, -0.0F);
}

void pack_dense(const BytecodeWeights& weights) {
    const std::int64_t stride = block * (weights.in + 1);
    pack_matrix(weights.from, weights.in, weights.out, weights.to, stride);
    pack_bias(weights, weights.from + weights.in * weights.out, weights.to + block * weights.in,
              stride);
}

void pack_rnn(const BytecodeWeights& weights) {
    const std::int64_t stride = block * (weights.in + weights.out + 1);
    const float* const recurrent = weights.from + weights.in * weights.out;
    float* const packed_recurrent = weights.to + block * weights.in;
    pack_matrix(weights.from, weights.in, weights.out, weights.to, stride);
    pack_matrix(recurrent, weights.out, weights.out, packed_recurrent, stride);
    pack_bias(weights, recurrent + weights.out * weights.out,
              packed_recurrent + block * weights.out, stride);
}

void pack_gain(const BytecodeWeights& weights) {
    pack_vector(weights.from, weights.out, weights.to, block);
}

void pack_gain_and_bias(const BytecodeWeights& weights) {
    pack_vector(weights.from, weights.out, weights.to, block);
    pack_vector(weights.from + weights.out, weights.out, weights.to + whole_blocks(weights.out),
                block);
}

void pack_projection(const BytecodeWeights& weights) {
    pack_matrix(weights.from, weights.in, weights.out, weights.to, block * weights.in);
}

void pack_gathered(const BytecodeWeights& weights) {
    for (std::size_t i = 0; i < weights.gather.size(); ++i)
        weights.to[i] = weights.gather[i] < 0 ? -0.0F : weights.from[weights.gather[i]];
}

constexpr std::array<BytecodeOpInfo, bytecode_op_count> table{
    BytecodeOpInfo{.op = BytecodeOp::end,
                   .name = "end",
                   .reads_source = true,
                   .weights = no_weights,
                   .pack = pack_nothing,
                   .meaning = "The output is source [in]. The weights of the network are detail "
                              "words from weights on."},
    BytecodeOpInfo{.op = BytecodeOp::dense,
                   .name = "dense",
                   .has_result = true,
                   .reads_source = true,
                   .weights = dense_weights,
                   .pack = pack_dense,
                   .meaning =
                       "result [out] = activation(W source + b), activation code in detail. A "
                       "block of weights: in fours of W, then one of b."},
    BytecodeOpInfo{.op = BytecodeOp::rnn,
                   .name = "rnn",
                   .has_result = true,
                   .reads_source = true,
                   .has_state = true,
                   .weights = rnn_weights,
                   .pack = pack_rnn,
                   .meaning =
                       "h = tanh((W source + V state) + b); state [out] at other becomes h, result "
                       "too. A block of weights: in fours of W, out fours of V, one of b."},
    BytecodeOpInfo{.op = BytecodeOp::rms_norm,
                   .name = "rms_norm",
                   .has_result = true,
                   .reads_source = true,
                   .weights = vector_weights,
                   .pack = pack_gain,
                   .meaning =
                       "result = source rsqrt(mean(source²) + epsilon) gain; epsilon's bits in "
                       "detail, those of 1/in in other."},
    BytecodeOpInfo{.op = BytecodeOp::layer_norm,
                   .name = "layer_norm",
                   .has_result = true,
                   .reads_source = true,
                   .weights = two_vectors_weights,
                   .pack = pack_gain_and_bias,
                   .meaning =
                       "c = source - mean(source); result = c rsqrt(mean(c²) + epsilon) gain + "
                       "bias; epsilon's bits in detail, those of 1/in in other."},
    BytecodeOpInfo{.op = BytecodeOp::softmax,
                   .name = "softmax",
                   .has_result = true,
                   .reads_source = true,
                   .weights = no_weights,
                   .pack = pack_nothing,
                   .meaning = "e = exp(source - max(source)); result = e reciprocal(sum(e))."},
    BytecodeOpInfo{.op = BytecodeOp::add,
                   .name = "add",
                   .has_result = true,
                   .reads_source = true,
                   .reads_other = true,
                   .weights = no_weights,
                   .pack = pack_nothing,
                   .meaning = "result = source + other."},
    BytecodeOpInfo{.op = BytecodeOp::scale_add,
                   .name = "scale_add",
                   .has_result = true,
                   .reads_source = true,
                   .reads_other = true,
                   .weights = vector_weights,
                   .pack = pack_gain,
                   .meaning = "result = other + source gain."},
    BytecodeOpInfo{
        .op = BytecodeOp::project_add,
        .name = "project_add",
        .has_result = true,
        .reads_source = true,
        .reads_other = true,
        .weights = matrix_weights,
        .pack = pack_projection,
        .meaning = "result [out] = other + W source. A block of weights: in fours of W."},
    BytecodeOpInfo{.op = BytecodeOp::load_state,
                   .name = "load_state",
                   .has_result = true,
                   .has_state = true,
                   .weights = no_weights,
                   .pack = pack_nothing,
                   .meaning = "result [out] = state at other."},
    BytecodeOpInfo{.op = BytecodeOp::store_state,
                   .name = "store_state",
                   .reads_source = true,
                   .has_state = true,
                   .weights = no_weights,
                   .pack = pack_nothing,
                   .meaning = "state at other becomes source [in]; out is in."},
    BytecodeOpInfo{
        .op = BytecodeOp::neurons,
        .name = "neurons",
        .has_result = true,
        .reads_source = true,
        .pack = pack_gathered,
        .meaning = "result [out] = the outputs of the neurons in the table of detail words "
                   "(NeuronTable), state at other the values they remember. Weights, a "
                   "record for each neuron: bias, time constant where continuous, one for "
                   "each source, of plastic ones the rule, filled up to eights or halves of them "
                   "with -0."},
};

constexpr bool covers_every_op() {
    for (std::size_t i = 0; i < bytecode_op_count; ++i)
        if (table[i].op != static_cast<BytecodeOp>(i) || table[i].pack == nullptr) return false;
    return true;
}
static_assert(covers_every_op(), "an op of bytecode has no row or a row is out of order");

/// Whether [first, first + count) lies in [0, size).
bool inside(std::int64_t first, std::int64_t count, std::int64_t size) {
    return first >= 0 && count >= 0 && first + count <= size;
}

}  // namespace

std::span<const BytecodeOpInfo, bytecode_op_count> bytecode_table() {
    return table;
}

const BytecodeOpInfo& op_info(BytecodeOp op) {
    return table[static_cast<std::size_t>(op)];
}

bool fits(const BytecodeInstruction& instruction, std::int64_t words,
          const BytecodeCapacity& capacity) {
    const auto [op, result, source, other, in, out, weights, detail] = instruction;
    if (words < bytecode_instruction_words ||
        !inside(static_cast<std::int64_t>(op), 1, static_cast<std::int64_t>(bytecode_op_count)))
        return false;
    const BytecodeOpInfo& entry = op_info(op);
    if (entry.weights == nullptr && !neurons_fit(instruction, words, capacity)) return false;
    const bool outside_set = known_code(detail, capacity.activations) != detail;
    if (op == BytecodeOp::dense && outside_set && known_code(detail, ActivationSet::any) == detail)
        return false;
    if (op == BytecodeOp::end && !inside(weights, detail, capacity.weights)) return false;
    const std::int64_t own_weights =
        entry.weights != nullptr ? entry.weights(in, out) : NeuronTable(instruction).weights();
    const auto in_memory = [&](std::int64_t first, std::int64_t width) {
        return first % 4 == 0 && inside(first, whole_blocks(width), capacity.memory);
    };
    return (!entry.has_result || in_memory(result, out)) &&
           (!entry.reads_source || in_memory(source, in)) &&
           (!entry.reads_other || in_memory(other, out)) &&
           (!entry.has_state || inside(other, out, capacity.state)) && weights % 4 == 0 &&
           inside(weights, own_weights, capacity.weights);
}

}  // namespace cambrian
