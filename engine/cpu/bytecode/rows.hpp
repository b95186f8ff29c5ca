#pragma once

#include <cstdint>

#include "cambrian/engine/network/bytecode/bytecode.hpp"

namespace cambrian::cpu {

/// One individual's network as data, and memory to run it in.
struct BytecodeRun {
    const std::int32_t* bytecode = nullptr;
    const float* weights = nullptr;
    float* memory = nullptr;   ///< capacity.memory words for each lane.
    float* staging = nullptr;  ///< Twice as many.
    std::int64_t inputs = 0;
    std::int64_t outputs = 0;
    BytecodeCapacity capacity;
};
/// Rows side by side in one pass.
inline constexpr std::int64_t max_lanes = 8;

/// Computes `count` rows [count, inputs] → outputs [count, outputs], state [count, capacity.state]
/// in place: ordered sums of multiplications and additions, each row on its own.
void run_bytecode(const BytecodeRun& run, const float* rows, std::int64_t count, float* outputs,
                  float* state);

}  // namespace cambrian::cpu
