#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cambrian/engine/network/network.hpp"

namespace cambrian {

/// The instructions of a tape. One row of the tape table (tape_table.cpp) each.
enum class TapeOp : std::int32_t {
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
    count_,
};

/// One instruction, eight words. Vectors lie in a working memory of one row: the row itself at 0,
/// what instructions compute behind it. What each word means for each op is in the tape table.
struct TapeInstruction {
    TapeOp op = TapeOp::end;
    std::int32_t result = 0;   ///< First word of the result in memory.
    std::int32_t source = 0;   ///< First word of the operand in memory.
    std::int32_t other = 0;    ///< Of the second operand, or a place in the state.
    std::int32_t in = 0;       ///< Width of the operand.
    std::int32_t out = 0;      ///< Width of the result.
    std::int32_t weights = 0;  ///< First word in the packed weights (a multiple of 4).
    std::int32_t detail = 0;   ///< Activation code and flags, or the bits of an epsilon.
};

/// What a tape needs; a compiled graph serves every tape that fits.
struct TapeCapacity {
    std::int64_t words = 0;    ///< Of the tape.
    std::int64_t weights = 0;  ///< Packed, with padding.
    std::int64_t state = 0;    ///< Of one row.
    std::int64_t memory = 0;   ///< Working words of one row.
    bool operator==(const TapeCapacity&) const = default;
    /// Each the larger of both.
    [[nodiscard]] TapeCapacity joined(const TapeCapacity& other) const;
    /// Rounded up so that few different ones occur while networks grow.
    [[nodiscard]] TapeCapacity rounded() const;
};

/// A network as data: what Op::interpret runs. Disabled slots are left out; the output of the head
/// comes last. Matrices are packed for vector loads: blocks of four outputs, for each input the
/// four weights side by side, outputs padded to a multiple of four with zeros.
struct Tape {
    std::vector<std::int32_t> words;  ///< Instructions; ends with TapeOp::end.
    TapeCapacity capacity;
};

/// Whether every layer and link of a blueprint has a tape form.
[[nodiscard]] bool has_tape(const Blueprint& blueprint);
/// Throws ShapeError as Network does; contract: has_tape.
[[nodiscard]] Tape make_tape(const Network& network);
/// Writes a genome's weights in the order of its tape. `packed` has capacity.weights words and is
/// filled whole.
void pack_weights(const Network& network, std::span<const float> weights, std::span<float> packed);

}  // namespace cambrian
