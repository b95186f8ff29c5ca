#pragma once

#include <cstdint>

#include "cambrian/engine/network/bytecode/bytecode.hpp"

namespace cambrian::cpu {

/// One individual's network as data, and memory to run it in.
struct TapeRun {
    const std::int32_t* tape = nullptr;
    const float* weights = nullptr;
    float* memory = nullptr;   ///< capacity.memory words for each lane.
    float* staging = nullptr;  ///< Twice as many.
    std::int64_t inputs = 0;
    std::int64_t outputs = 0;
    TapeCapacity capacity;
};
/// Rows side by side in one pass.
inline constexpr std::int64_t most_lanes = 8;

/// Computes `count` rows [count, inputs] → outputs [count, outputs], state [count, capacity.state]
/// in place: ordered sums of multiplications and additions, each row on its own.
void run_tape(const TapeRun& run, const float* rows, std::int64_t count, float* outputs,
              float* state);

}  // namespace cambrian::cpu
