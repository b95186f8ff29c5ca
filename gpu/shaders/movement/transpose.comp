#version 460
#extension GL_GOOGLE_include_directive : require
#include "cambrian/gpu/shaders/prelude.glsl"

// Copies words between an axis that is contiguous in the operand (down) and one that is contiguous
// in the result (across), 32 x 32 at a time through shared memory, so that both sides are touched in
// runs. A workgroup owns one tile of one position of the other axes.
// Push: addresses {result, operand, -, -, -, -, -, table}; words {extent across, extent down, tiles
// across, tiles down, other axes, words of the operand between neighbours across, words of the
// result between neighbours down}. The table holds {extent, stride of the result, stride of the
// operand} of the other axes, the innermost of them first.

const uint side = 32U;
shared uint tile[side * (side + 1U)];

void main() {
    uint tiles = group();
    uint first_across = tiles % push.word[2] * side;
    tiles /= push.word[2];
    uint first_down = tiles % push.word[3] * side;
    uint rest = tiles / push.word[3];
    uint to = 0U;
    uint from = 0U;
    Words table = Words(push.address[7]);
    for (uint axis = 0U; axis < push.word[4]; ++axis) {
        // The extent of the outermost axis may count individuals: what is left is its position.
        uint extent = axis + 1U == push.word[4] ? rest + 1U : table.at[3U * axis];
        uint position = rest % extent;
        rest /= extent;
        to += position * table.at[3U * axis + 1U];
        from += position * table.at[3U * axis + 2U];
    }
    uint lane = gl_LocalInvocationID.x % side;
    uint line = gl_LocalInvocationID.x / side;
    uint lines = gl_WorkGroupSize.x / side;
    for (uint k = line; k < side; k += lines) {
        uint across = first_across + k;
        uint down = first_down + lane;
        if (across < push.word[0] && down < push.word[1])
            tile[k * (side + 1U) + lane] =
                Words(push.address[1]).at[from + across * push.word[5] + down];
    }
    barrier();
    for (uint k = line; k < side; k += lines) {
        uint across = first_across + lane;
        uint down = first_down + k;
        if (across < push.word[0] && down < push.word[1])
            Words(push.address[0]).at[to + down * push.word[6] + across] =
                tile[lane * (side + 1U) + k];
    }
}
