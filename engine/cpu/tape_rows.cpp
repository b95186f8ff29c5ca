#include "cambrian/engine/cpu/tape_rows.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/elementary.hpp"
#include "cambrian/engine/cpu/activate.hpp"
#include "cambrian/engine/network/tape_table.hpp"

namespace cambrian::cpu {
namespace {

constexpr std::int64_t block = 4;
constexpr auto tanh_code = static_cast<std::int32_t>(Activation::tanh);

template <int width>
struct VectorOf {
    using Type [[gnu::vector_size(width * sizeof(float))]] = float;
};
template <int width>
using Vector = typename VectorOf<width>::Type;

template <int width>
Vector<width> load(const float* from) {
    Vector<width> vector;
    std::memcpy(&vector, from, sizeof(vector));
    return vector;
}
template <int width>
void store(float* to, Vector<width> vector) {
    std::memcpy(to, &vector, sizeof(vector));
}

/// A number for each lane.
template <int lanes>
struct Lane {
    float of[static_cast<std::size_t>(lanes)];
    float& operator[](int lane) { return of[lane]; }
    float operator[](int lane) const { return of[lane]; }
};

/// `blocks` blocks of four outputs for `lanes` rows: to[output][lane] = 0 + Σ_k x[k][lane] w[k], in
/// ascending k, plus the bias behind the weights of the block. Blocks are `stride` words apart.
template <int lanes, int blocks, bool bias>
void product_tile(const float* x, const float* weights, std::int64_t stride, std::int64_t in,
                  float* to) {
    if constexpr (lanes == 1) {
        // A single row: the four outputs of a block are the lanes.
        Vector<4> sums[static_cast<std::size_t>(blocks)]{};
        for (std::int64_t k = 0; k < in; ++k)
            for (std::int64_t b = 0; b < blocks; ++b)
                sums[b] = sums[b] + load<4>(weights + b * stride + block * k) * x[k];
        for (std::int64_t b = 0; b < blocks; ++b) {
            if constexpr (bias) sums[b] = sums[b] + load<4>(weights + b * stride + block * in);
            store<4>(to + block * b, sums[b]);
        }
    } else {
        Vector<lanes> sums[static_cast<std::size_t>(blocks)][block]{};
        for (std::int64_t k = 0; k < in; ++k) {
            const Vector<lanes> value = load<lanes>(x + k * lanes);
            for (std::int64_t b = 0; b < blocks; ++b)
                for (std::int64_t j = 0; j < block; ++j)
                    sums[b][j] = sums[b][j] + value * weights[b * stride + block * k + j];
        }
        for (std::int64_t b = 0; b < blocks; ++b)
            for (std::int64_t j = 0; j < block; ++j) {
                if constexpr (bias) sums[b][j] = sums[b][j] + weights[b * stride + block * in + j];
                store<lanes>(to + (block * b + j) * lanes, sums[b][j]);
            }
    }
}

template <int lanes, bool bias>
void product(const float* x, const float* weights, std::int64_t stride, std::int64_t in,
             std::int64_t out, float* to) {
    // As many chains of additions as registers hold: a chain alone waits for itself.
    constexpr int tile = lanes == 1 ? 4 : 2;
    std::int64_t blocks = (out + block - 1) / block;
    for (; blocks >= tile; blocks -= tile) {
        product_tile<lanes, tile, bias>(x, weights, stride, in, to);
        weights += tile * stride;
        to += tile * block * lanes;
    }
    for (; blocks > 0; --blocks) {
        product_tile<lanes, 1, bias>(x, weights, stride, in, to);
        weights += stride;
        to += block * lanes;
    }
}

/// A chunk of rows: memory[word][lane], state of row r at r · capacity.state.
template <int lanes>
class Chunk {
  public:
    Chunk(const TapeRun& run, std::int64_t count, float* state)
        : run_(run), count_(count), state_(state) {}

    /// Runs the tape; → the last instruction.
    const TapeInstruction& run(const TapeInstruction* instruction) const {
        for (;; ++instruction) {
            CAMBRIAN_EXPECT(fits(*instruction, run_.capacity));
            if (instruction->op == TapeOp::end) return *instruction;
            (this->*rows[static_cast<std::size_t>(instruction->op)])(*instruction);
        }
    }
    [[nodiscard]] float* at(std::int64_t word) const { return run_.memory + word * lanes; }

  private:
    using Instruction = TapeInstruction;

    [[nodiscard]] const float* weights(const Instruction& instruction) const {
        return run_.weights + instruction.weights;
    }
    [[nodiscard]] float* state(const Instruction& instruction, std::int64_t row) const {
        return state_ + row * run_.capacity.state + instruction.other;
    }

    void end(const Instruction&) const {}

    void dense(const Instruction& instruction) const {
        const auto& [op, result, source, other, in, out, first, code] = instruction;
        const bool linear = code == 0;
        float* const sums = linear ? at(result) : run_.staging;
        product<lanes, true>(at(source), weights(instruction), block * (in + 1), in, out, sums);
        if (!linear) activate(code, sums, at(result), out * lanes);
    }

    void rnn(const Instruction& instruction) const {
        const auto& [op, result, source, other, in, out, first, detail] = instruction;
        const std::int64_t stride = block * (std::int64_t{in} + out + 1);
        float* const sums = run_.staging;
        float* const recurrent = sums + run_.capacity.memory * lanes;
        product<lanes, false>(at(source), weights(instruction), stride, in, out, sums);
        load_state(instruction);
        const float* const bias = weights(instruction) + block * (std::int64_t{in} + out);
        product<lanes, false>(at(result), weights(instruction) + block * in, stride, out, out,
                              recurrent);
        for (std::int64_t i = 0; i < out; ++i)
            for (int lane = 0; lane < lanes; ++lane) {
                float& sum = sums[i * lanes + lane];
                sum = (sum + recurrent[i * lanes + lane]) + bias[i / block * stride + i % block];
            }
        activate(tanh_code, sums, at(result), std::int64_t{out} * lanes);
        save(instruction, result, out);
    }

    /// The mean over the operand of function(word) for every lane.
    template <class Function>
    [[nodiscard]] Lane<lanes> mean(const Instruction& instruction, Function function) const {
        const auto inverse = std::bit_cast<float>(instruction.other);
        Lane<lanes> total;
        for (int lane = 0; lane < lanes; ++lane) total[lane] = function(0, lane);
        for (std::int64_t i = 1; i < instruction.in; ++i)
            for (int lane = 0; lane < lanes; ++lane) total[lane] = total[lane] + function(i, lane);
        for (float& sum : total.of) sum = sum * inverse;
        return total;
    }
    static Lane<lanes> inverse_deviation(const Instruction& instruction,
                                         const Lane<lanes>& mean_square) {
        const auto epsilon = std::bit_cast<float>(instruction.detail);
        Lane<lanes> result;
        for (int lane = 0; lane < lanes; ++lane)
            result[lane] = elementary::rsqrt(mean_square[lane] + epsilon);
        return result;
    }

    void rms_norm(const Instruction& instruction) const {
        const float* const x = at(instruction.source);
        float* const y = at(instruction.result);
        const float* const gain = weights(instruction);
        const Lane<lanes> scale =
            inverse_deviation(instruction, mean(instruction, [x](std::int64_t i, int lane) {
                                  return x[i * lanes + lane] * x[i * lanes + lane];
                              }));
        for (std::int64_t i = 0; i < instruction.out; ++i)
            for (int lane = 0; lane < lanes; ++lane)
                y[i * lanes + lane] = (x[i * lanes + lane] * scale[lane]) * gain[i];
    }

    void layer_norm(const Instruction& instruction) const {
        const float* const x = at(instruction.source);
        float* const y = at(instruction.result);
        const float* const gain = weights(instruction);
        const float* const bias = gain + whole_blocks(instruction.out);
        const Lane<lanes> centre =
            mean(instruction, [x](std::int64_t i, int lane) { return x[i * lanes + lane]; });
        const auto centred = [&](std::int64_t i, int lane) {
            return x[i * lanes + lane] - centre[lane];
        };
        const Lane<lanes> scale =
            inverse_deviation(instruction, mean(instruction, [&](std::int64_t i, int lane) {
                                  return centred(i, lane) * centred(i, lane);
                              }));
        for (std::int64_t i = 0; i < instruction.out; ++i)
            for (int lane = 0; lane < lanes; ++lane)
                y[i * lanes + lane] = ((centred(i, lane) * scale[lane]) * gain[i]) + bias[i];
    }

    void softmax(const Instruction& instruction) const {
        const float* const x = at(instruction.source);
        float* const y = at(instruction.result);
        Lane<lanes> largest;
        std::copy_n(x, lanes, largest.of);
        for (std::int64_t i = 1; i < instruction.in; ++i)
            for (int lane = 0; lane < lanes; ++lane)
                largest[lane] =
                    x[i * lanes + lane] > largest[lane] ? x[i * lanes + lane] : largest[lane];
        for (std::int64_t i = 0; i < instruction.in; ++i)
            for (int lane = 0; lane < lanes; ++lane)
                y[i * lanes + lane] = elementary::exp(x[i * lanes + lane] - largest[lane]);
        Lane<lanes> total;
        std::copy_n(y, lanes, total.of);
        for (std::int64_t i = 1; i < instruction.in; ++i)
            for (int lane = 0; lane < lanes; ++lane)
                total[lane] = total[lane] + y[i * lanes + lane];
        for (float& sum : total.of) sum = elementary::reciprocal(sum);
        for (std::int64_t i = 0; i < instruction.in; ++i)
            for (int lane = 0; lane < lanes; ++lane)
                y[i * lanes + lane] = y[i * lanes + lane] * total[lane];
    }

    void add(const Instruction& instruction) const {
        sum(at(instruction.source), at(instruction.other), at(instruction.result), instruction.out);
    }
    static void sum(const float* a, const float* b, float* __restrict__ to, std::int64_t words) {
        for (std::int64_t i = 0; i < words * lanes; ++i) to[i] = a[i] + b[i];
    }

    void scale_add(const Instruction& instruction) const {
        const float* const x = at(instruction.source);
        const float* const other = at(instruction.other);
        const float* const gain = weights(instruction);
        float* const y = at(instruction.result);
        for (std::int64_t i = 0; i < instruction.out; ++i)
            for (int lane = 0; lane < lanes; ++lane)
                y[i * lanes + lane] = other[i * lanes + lane] + x[i * lanes + lane] * gain[i];
    }

    void project_add(const Instruction& instruction) const {
        const std::int64_t in = instruction.in;
        product<lanes, false>(at(instruction.source), weights(instruction), block * in, in,
                              instruction.out, run_.staging);
        sum(at(instruction.other), run_.staging, at(instruction.result), instruction.out);
    }

    void load_state(const Instruction& instruction) const {
        float* const to = at(instruction.result);
        for (std::int64_t row = 0; row < count_; ++row) {
            const float* const from = state(instruction, row);
            for (std::int64_t i = 0; i < instruction.out; ++i) to[i * lanes + row] = from[i];
        }
        for (std::int64_t row = count_; row < lanes; ++row)
            for (std::int64_t i = 0; i < instruction.out; ++i) to[i * lanes + row] = 0.0F;
    }
    void store_state(const Instruction& instruction) const {
        save(instruction, instruction.source, instruction.in);
    }
    void save(const Instruction& instruction, std::int32_t source, std::int64_t words) const {
        const float* const from = at(source);
        for (std::int64_t row = 0; row < count_; ++row) {
            float* const to = state(instruction, row);
            for (std::int64_t i = 0; i < words; ++i) to[i] = from[i * lanes + row];
        }
    }

    const TapeRun& run_;
    std::int64_t count_;
    float* state_;

    /// In the order of TapeOp.
    static constexpr std::array<void (Chunk::*)(const Instruction&) const, tape_op_count> rows{
        &Chunk::end,         &Chunk::dense,      &Chunk::rnn,        &Chunk::rms_norm,
        &Chunk::layer_norm,  &Chunk::softmax,    &Chunk::add,        &Chunk::scale_add,
        &Chunk::project_add, &Chunk::load_state, &Chunk::store_state};
};

template <int lanes>
void run_chunk(const TapeRun& run, const float* rows, std::int64_t count, float* outputs,
               float* state) {
    const Chunk<lanes> chunk(run, count, state);
    float* const memory = chunk.at(0);
    for (std::int64_t row = 0; row < count; ++row)
        for (std::int64_t i = 0; i < run.inputs; ++i)
            memory[i * lanes + row] = rows[row * run.inputs + i];
    // Lanes without a row compute on zeros, so that they never cost more than the others.
    for (std::int64_t row = count; row < lanes; ++row)
        for (std::int64_t i = 0; i < run.inputs; ++i) memory[i * lanes + row] = 0.0F;
    const TapeInstruction& end = chunk.run(reinterpret_cast<const TapeInstruction*>(run.tape));
    CAMBRIAN_EXPECT(end.in == run.outputs);
    const float* const result = chunk.at(end.source);
    for (std::int64_t row = 0; row < count; ++row)
        for (std::int64_t i = 0; i < run.outputs; ++i)
            outputs[row * run.outputs + i] = result[i * lanes + row];
}

}  // namespace

void run_tape(const TapeRun& run, const float* rows, std::int64_t count, float* outputs,
              float* state) {
    static_assert(sizeof(TapeInstruction) == tape_instruction_words * sizeof(std::int32_t));
    for (std::int64_t row = 0; row < count;) {
        const std::int64_t rest = count - row;
        const auto chunk = rest > 4 ? run_chunk<8> : (rest > 1 ? run_chunk<4> : run_chunk<1>);
        const std::int64_t lanes = std::min(rest, rest > 4 ? most_lanes : std::int64_t{4});
        chunk(run, rows + row * run.inputs, lanes, outputs + row * run.outputs,
              state + row * run.capacity.state);
        row += lanes;
    }
}

}  // namespace cambrian::cpu
