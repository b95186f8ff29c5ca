#version 460
#extension GL_GOOGLE_include_directive : require
#include "cambrian/gpu/shaders/prelude.glsl"
#include "cambrian/gpu/shaders/elementary.glsl"
#include "cambrian/gpu/shaders/ops.glsl"

// Sums of rows of real words from the first to the last, one invocation for each row. All
// invocations of the workgroup fetch a block of its rows together, as neighbours in memory.
// A dispatch adds words [begin, end) of each row to the sum so far.
// Push: addresses {result, operand}; words {rows, rows of a workgroup, words of a row, rows of an
// individual, words between individuals of operand and result, begin, end}.

const uint block_words = 32U * gl_WorkGroupSize.x;
shared float block[33U * gl_WorkGroupSize.x];

uint first_of(uint row) {
    return (row / push.word[3]) * push.word[4] + (row % push.word[3]) * push.word[2];
}

float sum_block(float sum, uint first, uint count) {
    uint i = 0U;
    for (; i + 8U <= count; i += 8U)
        [[unroll]] for (uint j = 0U; j < 8U; ++j) sum = op_add(sum, block[first + i + j]);
    for (; i < count; ++i) sum = op_add(sum, block[first + i]);
    return sum;
}

void main() {
    uint local = gl_LocalInvocationID.x;
    uint rows = push.word[1];
    uint columns = block_words / rows;
    uint begin = push.word[6];
    uint end = push.word[7];
    uint first_row = group() * rows;
    uint own_row = first_row + local;
    bool sums_row = local < rows && own_row < push.word[0];
    uint to = (own_row / push.word[3]) * push.word[5] + own_row % push.word[3];
    Reals operand = Reals(push.address[1]);
    Reals result = Reals(push.address[0]);
    float sum = 0.0F;
    if (sums_row) sum = begin == 0U ? operand.at[first_of(own_row)] : result.at[to];
    for (uint start = max(begin, 1U); start < end; start += columns) {
        for (uint i = 0U; i < 32U; ++i) {
            uint at = i * gl_WorkGroupSize.x + local;
            uint row = at / columns;
            uint column = at % columns;
            if (first_row + row < push.word[0] && start + column < end)
                block[row * (columns + 1U) + column] =
                    operand.at[first_of(first_row + row) + start + column];
        }
        barrier();
        if (sums_row) sum = sum_block(sum, local * (columns + 1U), min(columns, end - start));
        barrier();
    }
    if (sums_row) result.at[to] = sum;
}
