#include "cambrian/engine/cpu/bytecode/rows.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/elementary.hpp"
#include "cambrian/engine/cpu/bytecode/row_neurons.hpp"
#include "cambrian/engine/cpu/bytecode/row_products.hpp"
#include "cambrian/engine/cpu/bytecode/row_words.hpp"
#include "cambrian/engine/cpu/kernels/rows.hpp"
#include "cambrian/engine/network/bytecode/bytecode_table.hpp"

namespace cambrian::cpu {
namespace {

using namespace bytecode;

constexpr auto tanh_code = static_cast<std::int32_t>(Activation::tanh);

/// function(0) + function(1) + .. from the first to the last.
template <class Function>
auto ordered_sum(std::int64_t count, Function function) {
    auto total = function(std::int64_t{0});
    for (std::int64_t i = 1; i < count; ++i) total = total + function(i);
    return total;
}

/// Some rows on their way through a bytecode.
template <class Words>
class Chunk : public NeuronRows<Words, Chunk<Words>> {
    using Pass = NeuronRows<Words, Chunk>;

  public:
    using Pass::at;
    using Pass::Pass;

    /// Runs the bytecode; → the last instruction.
    const BytecodeInstruction& run(const BytecodeInstruction* instruction) const {
        for (; instruction->op != BytecodeOp::end; instruction = next(instruction))
            (this->*ops[static_cast<std::size_t>(instruction->op)])(*instruction);
        return *instruction;
    }

  private:
    using Pass::lanes;
    using Pass::run_;
    using Pass::state_;
    using Pass::vectors;
    using Pass::weights;
    using Pass::words_;
    using typename Pass::Instruction;
    using typename Pass::Row;

    void end(const Instruction&) const {}

    void dense(const Instruction& instruction) const {
        const auto& [op, result, source, other, in, out, first, code] = instruction;
        const bool linear = code == 0;
        float* const sums = linear ? at(result) : run_.staging;
        product<true>(words_, at(source), weights(instruction), block * (in + 1), in, out, sums);
        if (!linear) activate(code, sums, at(result), out * words_.size());
    }

    void rnn(const Instruction& instruction) const {
        const auto& [op, result, source, other, in, out, first, detail] = instruction;
        const std::int64_t stride = block * (std::int64_t{in} + out + 1);
        float* const sums = run_.staging;
        float* const recurrent = sums + run_.capacity.memory * words_.size();
        const float* const own = weights(instruction);
        const float* const bias = Words::weights(own, block * (std::int64_t{in} + out));
        product<false>(words_, at(source), own, stride, in, out, sums);
        load_state(instruction);
        product<false>(words_, at(result), Words::weights(own, block * in), stride, out, out,
                       recurrent);
        words_.fill(sums, out, [&](std::int64_t i, std::int64_t v) {
            return (words_.at(sums, i, v) + words_.at(recurrent, i, v)) +
                   Words::weight(bias, i / block * stride + i % block);
        });
        activate(tanh_code, sums, at(result), out * words_.size());
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
        Row scale[vectors];
        for (std::int64_t v = 0; v < words_.vectors(); ++v)
            scale[v] =
                inverse_deviation(instruction, ordered_sum(instruction.in, [&](std::int64_t i) {
                                      return words_.at(x, i, v) * words_.at(x, i, v);
                                  }));
        words_.fill(at(instruction.result), instruction.out, [&](std::int64_t i, std::int64_t v) {
            return (words_.at(x, i, v) * scale[v]) * Words::weight(gain, i);
        });
    }

    void layer_norm(const Instruction& instruction) const {
        const float* const x = at(instruction.source);
        const float* const gain = weights(instruction);
        const float* const bias = Words::weights(gain, whole_blocks(instruction.out));
        Row centre[vectors];
        Row scale[vectors];
        const auto centred = [&](std::int64_t i, std::int64_t v) {
            return words_.at(x, i, v) - centre[v];
        };
        for (std::int64_t v = 0; v < words_.vectors(); ++v) {
            centre[v] =
                ordered_sum(instruction.in, [&](std::int64_t i) { return words_.at(x, i, v); }) *
                std::bit_cast<float>(instruction.other);
            scale[v] =
                inverse_deviation(instruction, ordered_sum(instruction.in, [&](std::int64_t i) {
                                      return centred(i, v) * centred(i, v);
                                  }));
        }
        words_.fill(at(instruction.result), instruction.out, [&](std::int64_t i, std::int64_t v) {
            return ((centred(i, v) * scale[v]) * Words::weight(gain, i)) + Words::weight(bias, i);
        });
    }

    void softmax(const Instruction& instruction) const {
        const std::int64_t width = instruction.in;
        const float* const x = at(instruction.source);
        float* const y = at(instruction.result);
        Row each[vectors];
        for (std::int64_t v = 0; v < words_.vectors(); ++v) {
            each[v] = words_.at(x, 0, v);
            for (std::int64_t i = 1; i < width; ++i) {
                const Row value = words_.at(x, i, v);
                each[v] = value > each[v] ? value : each[v];
            }
        }
        words_.fill(y, width,
                    [&](std::int64_t i, std::int64_t v) { return words_.at(x, i, v) - each[v]; });
        for (std::int64_t i = 0; i < width * words_.size(); ++i) y[i] = elementary::exp(y[i]);
        for (std::int64_t v = 0; v < words_.vectors(); ++v)
            each[v] = each_lane<lanes>(
                ordered_sum(width, [&](std::int64_t i) { return words_.at(y, i, v); }),
                [](float value) { return elementary::reciprocal(value); });
        words_.fill(y, width,
                    [&](std::int64_t i, std::int64_t v) { return words_.at(y, i, v) * each[v]; });
    }

    void add(const Instruction& instruction) const {
        sum(at(instruction.source), at(instruction.other), at(instruction.result), instruction.out);
    }
    void sum(const float* a, const float* b, float* __restrict__ to, std::int64_t words) const {
        for (std::int64_t i = 0; i < words * words_.size(); ++i) to[i] = a[i] + b[i];
    }

    void scale_add(const Instruction& instruction) const {
        const float* const x = at(instruction.source);
        const float* const other = at(instruction.other);
        const float* const gain = weights(instruction);
        words_.fill(at(instruction.result), instruction.out, [&](std::int64_t i, std::int64_t v) {
            return words_.at(other, i, v) + words_.at(x, i, v) * Words::weight(gain, i);
        });
    }

    void project_add(const Instruction& instruction) const {
        const std::int64_t in = instruction.in;
        product<false>(words_, at(instruction.source), weights(instruction), block * in, in,
                       instruction.out, run_.staging);
        sum(at(instruction.other), run_.staging, at(instruction.result), instruction.out);
    }

    void load_state(const Instruction& instruction) const {
        words_.load_state(state_, instruction.other, instruction.out, at(instruction.result));
    }
    void store_state(const Instruction& instruction) const {
        save(instruction, instruction.source, instruction.in);
    }
    void save(const Instruction& instruction, std::int32_t source, std::int64_t width) const {
        words_.save_state(at(source), instruction.other, width, state_);
    }

    /// In the order of BytecodeOp.
    static constexpr std::array<void (Chunk::*)(const Instruction&) const, bytecode_op_count> ops{
        &Chunk::end,         &Chunk::dense,      &Chunk::rnn,         &Chunk::rms_norm,
        &Chunk::layer_norm,  &Chunk::softmax,    &Chunk::add,         &Chunk::scale_add,
        &Chunk::project_add, &Chunk::load_state, &Chunk::store_state, &Chunk::neurons};
};

const BytecodeInstruction* instructions(const std::int32_t* bytecode) {
    static_assert(sizeof(BytecodeInstruction) == bytecode_instruction_words * sizeof(std::int32_t));
    return reinterpret_cast<const BytecodeInstruction*>(bytecode);
}

void rows_to_words(const float* rows, std::int64_t count, std::int64_t inputs, float* words) {
    for (std::int64_t row = 0; row < count; ++row)
        for (std::int64_t i = 0; i < inputs; ++i) words[i * count + row] = rows[row * inputs + i];
}

/// The inputs lie in memory.
template <class Words>
void run_words(const BytecodeRun& run, const Chunk<Words>& chunk, std::int64_t count,
               float* outputs) {
    const BytecodeInstruction& end = chunk.run(instructions(run.bytecode));
    CAMBRIAN_EXPECT(end.in == run.outputs);
    const float* const result = chunk.at(end.source);
    for (std::int64_t row = 0; row < count; ++row)
        for (std::int64_t i = 0; i < run.outputs; ++i)
            outputs[row * run.outputs + i] = result[i * count + row];
}

template <class Words>
void run_rows(const BytecodeRun& run, const Chunk<Words>& chunk, const float* rows,
              std::int64_t count, float* outputs) {
    rows_to_words(rows, count, run.inputs, chunk.at(0));
    run_words(run, chunk, count, outputs);
}

template <int lanes>
void run_few(const BytecodeRun& run, const float* rows, std::int64_t count, float* outputs,
             float* state) {
    using Words = RowsOfOne<lanes>;
    run_rows(run, Chunk<Words>(run, Words(count), {state, run.capacity.state}), rows, count,
             outputs);
}

/// Exactly wide_rows rows. @param words the same as words, or null.
void run_wide(const BytecodeRun& run, const float* rows, const float* words, float* outputs,
              float* state) {
    using Words = RowsInVectors<wide_rows / max_lanes>;
    const Chunk<Words> chunk(run, Words(), {state, run.capacity.state});
    if (words == nullptr) {
        run_rows(run, chunk, rows, wide_rows, outputs);
        return;
    }
    std::copy_n(words, wide_rows * run.inputs, chunk.at(0));
    run_words(run, chunk, wide_rows, outputs);
}

template <std::size_t row_count>
void run_side_by_side(const BytecodeRun& run, std::int64_t networks, const RowColumns& x) {
    using Words = RowsOfMany<row_count>;
    constexpr std::int64_t rows = Words::rows;
    const Words words(networks);
    const Chunk<Words> chunk(run, words, x.state);
    float* const memory = chunk.at(0);
    for (std::int64_t i = 0; i < run.inputs; ++i)
        for (std::int64_t row = 0; row < rows; ++row)
            Words::put(memory, i, row, load<max_lanes>(x.inputs[row * run.inputs + i] + x.column));
    const BytecodeInstruction& end = chunk.run(instructions(run.bytecode));
    CAMBRIAN_EXPECT(end.in == run.outputs);
    const float* const result = chunk.at(end.source);
    for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t i = 0; i < run.outputs; ++i)
            words.keep(Words::at(result, i, row), x.outputs + (row * run.outputs + i) * x.stride);
}

}  // namespace

BytecodeRun bytecode_run(const InterpretAttribute& interpret, const Shape& bytecode,
                         const Shape& weights, const Shape& rows, const Shape& state) {
    BytecodeRun run;
    run.inputs = rows[-1];
    run.outputs = interpret.outputs;
    run.capacity = capacity_of(interpret, bytecode, weights, state);
    run.largest = interpret.weights;
    return run;
}

const BytecodeInstruction* fitting_end(const std::int32_t* bytecode, const BytecodeRun& run) {
    const auto* const after = bytecode + run.capacity.words;
    for (const auto* instruction = instructions(bytecode);; instruction = next(instruction)) {
        const auto words = after - reinterpret_cast<const std::int32_t*>(instruction);
        if (!fits(*instruction, words, run.capacity)) return nullptr;
        if (instruction->op == BytecodeOp::end)
            return instruction->detail <= run.largest ? instruction : nullptr;
    }
}

void run_bytecode(const BytecodeRun& run, const float* rows, std::int64_t count, float* outputs,
                  float* state) {
    std::int64_t row = 0;
    for (; run.rows >= wide_rows && row + wide_rows <= count; row += wide_rows)
        run_wide(run, rows + row * run.inputs,
                 run.words == nullptr ? nullptr : run.words + row * run.inputs,
                 outputs + row * run.outputs, state + row * run.capacity.state);
    while (row < count) {
        const std::int64_t rest = count - row;
        const auto few = rest > 4 ? run_few<8> : (rest > 1 ? run_few<4> : run_few<1>);
        const std::int64_t taken = std::min(rest, rest > 4 ? max_lanes : std::int64_t{4});
        few(run, rows + row * run.inputs, taken, outputs + row * run.outputs,
            state + row * run.capacity.state);
        row += taken;
    }
}

void write_words(const float* rows, std::int64_t count, std::int64_t inputs, float* words) {
    for (std::int64_t row = 0; row + wide_rows <= count; row += wide_rows)
        rows_to_words(rows + row * inputs, wide_rows, inputs, words + row * inputs);
}

void run_bytecode_side_by_side(const BytecodeRun& run, std::int64_t networks, std::int64_t rows,
                               RowColumns x) {
    constexpr std::array by_rows{run_side_by_side<1>, run_side_by_side<2>, run_side_by_side<3>,
                                 run_side_by_side<4>, run_side_by_side<5>};
    static_assert(by_rows.size() == max_rows_side_by_side);
    // Parts of about the same size: a last row alone would wait for every sum.
    std::int64_t parts = (rows + max_rows_side_by_side - 1) / max_rows_side_by_side;
    for (; parts > 0; --parts) {
        const std::int64_t now = (rows + parts - 1) / parts;
        by_rows[static_cast<std::size_t>(now - 1)](run, networks, x);
        x.inputs += now * run.inputs;
        x.outputs += now * run.outputs * x.stride;
        x.state.first += now * x.state.words * x.state.stride;
        rows -= now;
    }
}

}  // namespace cambrian::cpu
