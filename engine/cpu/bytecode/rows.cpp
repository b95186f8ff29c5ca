#include "cambrian/engine/cpu/bytecode/rows.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/elementary.hpp"
#include "cambrian/engine/cpu/kernels/activate.hpp"
#include "cambrian/engine/network/bytecode/bytecode_table.hpp"

namespace cambrian::cpu {
namespace {

constexpr std::int64_t block = 4;
constexpr auto tanh_code = static_cast<std::int32_t>(Activation::tanh);

template <int width, class Element>
struct VectorOf {
    using Type [[gnu::vector_size(width * sizeof(Element))]] = Element;
};
template <class Element>
struct VectorOf<1, Element> {
    using Type = Element;
};
template <int width>
using Vector = typename VectorOf<width, float>::Type;
template <int width>
using Mask = typename VectorOf<width, std::int32_t>::Type;

template <int width>
Vector<width> load(const float* from) {
    Vector<width> vector;
    std::memcpy(&vector, from, sizeof(vector));
    return vector;
}
template <int width>
void store(float* to, const Vector<width>& vector) {
    std::memcpy(to, &vector, sizeof(vector));
}
/// A function of a number, of every lane.
template <int width, class Function>
Vector<width> each_lane(const Vector<width>& vector, Function function) {
    float lane[static_cast<std::size_t>(width)];
    store<width>(lane, vector);
    for (float& value : lane) value = function(value);
    return load<width>(lane);
}

/// Words of up to `lanes` rows, the rows of a word side by side and the words without a gap, so
/// that elementwise work has no idle lanes. A vector load sees the rows of the next word in the
/// lanes that are left over; a vector store spills into it, which is why words are stored in
/// ascending order and the last one is blended.
template <int lanes>
class Words {
  public:
    explicit Words(std::int64_t rows) : rows_(rows) {
        if constexpr (lanes > 1)
            for (int lane = 0; lane < lanes; ++lane) own_[lane] = lane < rows ? -1 : 0;
    }
    [[nodiscard]] std::int64_t rows() const { return rows_; }
    [[nodiscard]] Vector<lanes> at(const float* words, std::int64_t i) const {
        return load<lanes>(words + i * rows_);
    }
    /// Stores a word that a later one follows.
    void put(float* words, std::int64_t i, const Vector<lanes>& value) const {
        store<lanes>(words + i * rows_, value);
    }
    void put_last(float* words, std::int64_t i, const Vector<lanes>& value) const {
        if constexpr (lanes == 1)
            put(words, i, value);
        else
            put(words, i, own_ ? value : at(words, i));
    }
    /// words[i] = function(i) for i < count; function may read word i of the same words.
    template <class Function>
    void fill(float* words, std::int64_t count, Function function) const {
        Vector<lanes> value = function(std::int64_t{0});
        for (std::int64_t i = 0; i + 1 < count; ++i) {
            const Vector<lanes> next = function(i + 1);
            put(words, i, value);
            value = next;
        }
        put_last(words, count - 1, value);
    }
    /// function(0) + function(1) + .. from the first to the last.
    template <class Function>
    [[nodiscard]] Vector<lanes> sum(std::int64_t count, Function function) const {
        Vector<lanes> total = function(std::int64_t{0});
        for (std::int64_t i = 1; i < count; ++i) total = total + function(i);
        return total;
    }

  private:
    std::int64_t rows_;
    Mask<lanes> own_{};
};

/// `blocks` blocks of four outputs: to[output] = 0 + Σ_k x[k] w[k] for every row, in ascending k,
/// plus the bias after the weights of the block. Blocks are `stride` words apart.
template <int lanes, int blocks, bool bias>
void product_tile(const Words<lanes>& words, const float* x, const float* weights,
                  std::int64_t stride, std::int64_t in, float* to) {
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
            const Vector<lanes> value = words.at(x, k);
            for (std::int64_t b = 0; b < blocks; ++b)
                for (std::int64_t j = 0; j < block; ++j)
                    sums[b][j] = sums[b][j] + value * weights[b * stride + block * k + j];
        }
        for (std::int64_t b = 0; b < blocks; ++b)
            for (std::int64_t j = 0; j < block; ++j) {
                if constexpr (bias) sums[b][j] = sums[b][j] + weights[b * stride + block * in + j];
                if (b + 1 == blocks && j + 1 == block)
                    words.put_last(to, block * b + j, sums[b][j]);
                else
                    words.put(to, block * b + j, sums[b][j]);
            }
    }
}

template <int lanes, bool bias>
void product(const Words<lanes>& words, const float* x, const float* weights, std::int64_t stride,
             std::int64_t in, std::int64_t out, float* to) {
    // As many chains of additions as registers hold: a chain alone waits for itself.
    constexpr int tile = lanes == 1 ? 4 : 2;
    std::int64_t blocks = (out + block - 1) / block;
    for (; blocks >= tile; blocks -= tile) {
        product_tile<lanes, tile, bias>(words, x, weights, stride, in, to);
        weights += tile * stride;
        to += tile * block * words.rows();
    }
    for (; blocks > 0; --blocks) {
        product_tile<lanes, 1, bias>(words, x, weights, stride, in, to);
        weights += stride;
        to += block * words.rows();
    }
}

/// A chunk of rows; the state of row r lies at r · capacity.state.
template <int lanes>
class Chunk {
  public:
    Chunk(const BytecodeRun& run, std::int64_t count, float* state)
        : run_(run), words_(count), state_(state) {}

    /// Runs the bytecode; → the last instruction.
    const BytecodeInstruction& run(const BytecodeInstruction* instruction) const {
        for (;; ++instruction) {
            CAMBRIAN_EXPECT(fits(*instruction, run_.capacity));
            if (instruction->op == BytecodeOp::end) return *instruction;
            (this->*ops[static_cast<std::size_t>(instruction->op)])(*instruction);
        }
    }
    [[nodiscard]] float* at(std::int64_t word) const { return run_.memory + word * words_.rows(); }

  private:
    using Instruction = BytecodeInstruction;
    using Row = Vector<lanes>;

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
        product<lanes, true>(words_, at(source), weights(instruction), block * (in + 1), in, out,
                             sums);
        if (!linear) activate(code, sums, at(result), out * words_.rows());
    }

    void rnn(const Instruction& instruction) const {
        const auto& [op, result, source, other, in, out, first, detail] = instruction;
        const std::int64_t stride = block * (std::int64_t{in} + out + 1);
        float* const sums = run_.staging;
        float* const recurrent = sums + run_.capacity.memory * lanes;
        const float* const bias = weights(instruction) + block * (std::int64_t{in} + out);
        product<lanes, false>(words_, at(source), weights(instruction), stride, in, out, sums);
        load_state(instruction);
        product<lanes, false>(words_, at(result), weights(instruction) + block * in, stride, out,
                              out, recurrent);
        words_.fill(sums, out, [&](std::int64_t i) {
            return (words_.at(sums, i) + words_.at(recurrent, i)) +
                   bias[i / block * stride + i % block];
        });
        activate(tanh_code, sums, at(result), out * words_.rows());
        save(instruction, result, out);
    }

    /// 1 / sqrt(mean + epsilon) of the mean of `count` numbers.
    static Row inverse_deviation(const Instruction& instruction, const Row& total) {
        const auto inverse = std::bit_cast<float>(instruction.other);
        const auto epsilon = std::bit_cast<float>(instruction.detail);
        return each_lane<lanes>(total * inverse + epsilon,
                                [](float value) { return elementary::rsqrt(value); });
    }

    void rms_norm(const Instruction& instruction) const {
        const float* const x = at(instruction.source);
        const float* const gain = weights(instruction);
        const Row scale =
            inverse_deviation(instruction, words_.sum(instruction.in, [&](std::int64_t i) {
                return words_.at(x, i) * words_.at(x, i);
            }));
        words_.fill(at(instruction.result), instruction.out,
                    [&](std::int64_t i) { return (words_.at(x, i) * scale) * gain[i]; });
    }

    void layer_norm(const Instruction& instruction) const {
        const float* const x = at(instruction.source);
        const float* const gain = weights(instruction);
        const float* const bias = gain + whole_blocks(instruction.out);
        const Row centre = words_.sum(instruction.in, [&](std::int64_t i) {
            return words_.at(x, i);
        }) * std::bit_cast<float>(instruction.other);
        const auto centred = [&](std::int64_t i) { return words_.at(x, i) - centre; };
        const Row scale = inverse_deviation(
            instruction,
            words_.sum(instruction.in, [&](std::int64_t i) { return centred(i) * centred(i); }));
        words_.fill(at(instruction.result), instruction.out,
                    [&](std::int64_t i) { return ((centred(i) * scale) * gain[i]) + bias[i]; });
    }

    void softmax(const Instruction& instruction) const {
        const std::int64_t width = instruction.in;
        const float* const x = at(instruction.source);
        float* const y = at(instruction.result);
        Row largest = words_.at(x, 0);
        for (std::int64_t i = 1; i < width; ++i) {
            const Row value = words_.at(x, i);
            largest = value > largest ? value : largest;
        }
        words_.fill(y, width, [&](std::int64_t i) { return words_.at(x, i) - largest; });
        for (std::int64_t i = 0; i < width * words_.rows(); ++i) y[i] = elementary::exp(y[i]);
        const Row scale =
            each_lane<lanes>(words_.sum(width, [&](std::int64_t i) { return words_.at(y, i); }),
                             [](float value) { return elementary::reciprocal(value); });
        words_.fill(y, width, [&](std::int64_t i) { return words_.at(y, i) * scale; });
    }

    void add(const Instruction& instruction) const {
        sum(at(instruction.source), at(instruction.other), at(instruction.result), instruction.out);
    }
    void sum(const float* a, const float* b, float* __restrict__ to, std::int64_t words) const {
        for (std::int64_t i = 0; i < words * words_.rows(); ++i) to[i] = a[i] + b[i];
    }

    void scale_add(const Instruction& instruction) const {
        const float* const x = at(instruction.source);
        const float* const other = at(instruction.other);
        const float* const gain = weights(instruction);
        words_.fill(at(instruction.result), instruction.out, [&](std::int64_t i) {
            return words_.at(other, i) + words_.at(x, i) * gain[i];
        });
    }

    void project_add(const Instruction& instruction) const {
        const std::int64_t in = instruction.in;
        product<lanes, false>(words_, at(instruction.source), weights(instruction), block * in, in,
                              instruction.out, run_.staging);
        sum(at(instruction.other), run_.staging, at(instruction.result), instruction.out);
    }

    void load_state(const Instruction& instruction) const {
        float* const to = at(instruction.result);
        for (std::int64_t row = 0; row < words_.rows(); ++row) {
            const float* const from = state(instruction, row);
            for (std::int64_t i = 0; i < instruction.out; ++i)
                to[i * words_.rows() + row] = from[i];
        }
    }
    void store_state(const Instruction& instruction) const {
        save(instruction, instruction.source, instruction.in);
    }
    void save(const Instruction& instruction, std::int32_t source, std::int64_t width) const {
        const float* const from = at(source);
        for (std::int64_t row = 0; row < words_.rows(); ++row) {
            float* const to = state(instruction, row);
            for (std::int64_t i = 0; i < width; ++i) to[i] = from[i * words_.rows() + row];
        }
    }

    const BytecodeRun& run_;
    Words<lanes> words_;
    float* state_;

    /// In the order of BytecodeOp.
    static constexpr std::array<void (Chunk::*)(const Instruction&) const, bytecode_op_count> ops{
        &Chunk::end,         &Chunk::dense,      &Chunk::rnn,        &Chunk::rms_norm,
        &Chunk::layer_norm,  &Chunk::softmax,    &Chunk::add,        &Chunk::scale_add,
        &Chunk::project_add, &Chunk::load_state, &Chunk::store_state};
};

template <int lanes>
void run_chunk(const BytecodeRun& run, const float* rows, std::int64_t count, float* outputs,
               float* state) {
    const Chunk<lanes> chunk(run, count, state);
    float* const memory = chunk.at(0);
    for (std::int64_t row = 0; row < count; ++row)
        for (std::int64_t i = 0; i < run.inputs; ++i)
            memory[i * count + row] = rows[row * run.inputs + i];
    const BytecodeInstruction& end =
        chunk.run(reinterpret_cast<const BytecodeInstruction*>(run.bytecode));
    CAMBRIAN_EXPECT(end.in == run.outputs);
    const float* const result = chunk.at(end.source);
    for (std::int64_t row = 0; row < count; ++row)
        for (std::int64_t i = 0; i < run.outputs; ++i)
            outputs[row * run.outputs + i] = result[i * count + row];
}

}  // namespace

void run_bytecode(const BytecodeRun& run, const float* rows, std::int64_t count, float* outputs,
                  float* state) {
    static_assert(sizeof(BytecodeInstruction) == bytecode_instruction_words * sizeof(std::int32_t));
    for (std::int64_t row = 0; row < count;) {
        const std::int64_t rest = count - row;
        const auto chunk = rest > 4 ? run_chunk<8> : (rest > 1 ? run_chunk<4> : run_chunk<1>);
        const std::int64_t lanes = std::min(rest, rest > 4 ? max_lanes : std::int64_t{4});
        chunk(run, rows + row * run.inputs, lanes, outputs + row * run.outputs,
              state + row * run.capacity.state);
        row += lanes;
    }
}

}  // namespace cambrian::cpu
