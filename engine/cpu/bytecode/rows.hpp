#pragma once

#include <cstdint>

#include "cambrian/engine/network/bytecode/bytecode.hpp"

namespace cambrian::cpu {

/// Numbers of a vector: rows of one network side by side, or networks of one structure.
inline constexpr std::int64_t max_lanes = 8;
/// Rows of one network in one pass, where there are so many and memory has room for them.
inline constexpr std::int64_t wide_rows = 16 * max_lanes;
/// Rows of networks side by side in one pass.
inline constexpr std::int64_t max_rows_side_by_side = 5;

/// A network as data, and memory to run it in.
struct BytecodeRun {
    const std::int32_t* bytecode = nullptr;
    const float* weights = nullptr;
    std::int64_t first_weight = 0;  ///< What instructions call the one at `weights`.
    std::int64_t rows = max_lanes;  ///< That memory has room for, max_lanes or wide_rows.
    float* memory = nullptr;   ///< capacity.memory words for each number of a pass: `rows` rows, or
                               ///< max_lanes for each of max_rows_side_by_side.
    float* staging = nullptr;  ///< Twice as many.
    /// The rows of run_bytecode as write_words() writes them, for networks that share them; or
    /// null.
    const float* words = nullptr;
    std::int64_t inputs = 0;
    std::int64_t outputs = 0;
    BytecodeCapacity capacity;
    std::int64_t largest = 0;  ///< Packed words of the largest network there may be.
};

/// What an op says of every run: inputs, outputs, capacity, largest.
[[nodiscard]] BytecodeRun bytecode_run(const InterpretAttribute& interpret, const Shape& bytecode,
                                       const Shape& weights, const Shape& rows, const Shape& state);

/// The last instruction of a bytecode whose every word lies inside the capacity of a run, as all
/// that run it rely on; null for any other. A bytecode fits a run where there is one.
[[nodiscard]] const BytecodeInstruction* fitting_end(const std::int32_t* bytecode,
                                                     const BytecodeRun& run);

/// Computes `count` rows [count, inputs] → outputs [count, outputs], state [count, capacity.state]
/// in place: ordered sums of multiplications and additions, each row on its own. Contract:
/// the bytecode fits, which is not checked here.
void run_bytecode(const BytecodeRun& run, const float* rows, std::int64_t count, float* outputs,
                  float* state);

/// Rows [count, inputs] as the words of passes of wide_rows rows; the rest is left out.
void write_words(const float* rows, std::int64_t count, std::int64_t inputs, float* words);

/// State whose words are columns of networks: word i of a row is `stride` numbers from word i + 1.
struct StateColumns {
    float* first = nullptr;   ///< Of the first network.
    std::int64_t stride = 0;  ///< From one word to the next.
    std::int64_t words = 0;   ///< Of a row.

    [[nodiscard]] float* at(std::int64_t row, std::int64_t word) const {
        return first + (row * words + word) * stride;
    }
};
/// Rows of networks whose numbers lie in columns, those of one network below each other.
struct RowColumns {
    const float* const* inputs = nullptr;  ///< Of element i of row r at r · inputs + i.
    std::int64_t column = 0;               ///< Of the first network, in each of `inputs`.
    float* outputs = nullptr;              ///< [rows, outputs] columns of the first network.
    std::int64_t stride = 0;               ///< From one column of outputs to the next.
    StateColumns state;
};

/// The same for up to max_lanes networks whose bytecodes differ in nothing but where their weights
/// begin: run.bytecode is that of one of them, weight w of its network n lies at run.weights
/// [w · max_lanes + n]. A load may read max_lanes numbers from the first network on; nothing is
/// written after the last. Every network has the bits of run_bytecode. Contract: the bytecode fits.
void run_bytecode_side_by_side(const BytecodeRun& run, std::int64_t networks, std::int64_t rows,
                               RowColumns x);

}  // namespace cambrian::cpu
