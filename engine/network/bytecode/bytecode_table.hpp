#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "cambrian/engine/network/bytecode/bytecode.hpp"

namespace cambrian {

/// Where the weights of one instruction are, in a network's weight vector and packed.
struct BytecodeWeights {
    std::int64_t in = 0;
    std::int64_t out = 0;
    bool bias = true;  ///< Whether the layer has one.
    const float* from = nullptr;
    float* to = nullptr;
    std::span<const std::int32_t> gather{};  ///< BytecodePacking::gather.
};

/// One row of the bytecode table.
struct BytecodeOpInfo {
    BytecodeOp op = BytecodeOp::count_;
    std::string_view name;
    bool has_result = false;    ///< `result` is a vector of `out` words in memory.
    bool reads_source = false;  ///< `source` is a vector of `in` words in memory.
    bool reads_other = false;   ///< `other` is a vector of `out` words in memory.
    bool has_state = false;     ///< `other` is a place in the state.
    /// Packed words of the weights; null where a table says how many.
    std::int64_t (*weights)(std::int64_t in, std::int64_t out) = nullptr;
    void (*pack)(const BytecodeWeights& weights) = nullptr;
    std::string_view meaning;  ///< Formula and words.
};

inline constexpr std::size_t bytecode_op_count = static_cast<std::size_t>(BytecodeOp::count_);
/// The table, one row for each op in enumerator order (checked at compile time).
[[nodiscard]] std::span<const BytecodeOpInfo, bytecode_op_count> bytecode_table();
[[nodiscard]] const BytecodeOpInfo& op_info(BytecodeOp op);

/// A width with the words up to the next multiple of four.
[[nodiscard]] constexpr std::int64_t whole_blocks(std::int64_t width) {
    return (width + 3) / 4 * 4;
}

/// Whether every word that an instruction in a bytecode touches lies inside a capacity.
/// @param words of the bytecode from the instruction on.
[[nodiscard]] bool fits(const BytecodeInstruction& instruction, std::int64_t words,
                        const BytecodeCapacity& capacity);

}  // namespace cambrian
