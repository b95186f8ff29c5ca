#version 460
#extension GL_GOOGLE_include_directive : require
#include "prelude.glsl"
#include "elementary.glsl"
#include "ops.glsl"

// Sums of rows of real words from the first to the last, one invocation for each row. All
// invocations of the workgroup fetch a block of its rows together, as neighbours in memory.
// Push: addresses {result, operand}; words {rows, rows of a workgroup, words of a row, rows of an
// individual, words between individuals of operand and result}.

const uint block_words = 32U * gl_WorkGroupSize.x;
shared float block[33U * gl_WorkGroupSize.x];

uint first_of(uint row) {
    return (row / push.word[3]) * push.word[4] + (row % push.word[3]) * push.word[2];
}

void main() {
    uint local = gl_LocalInvocationID.x;
    uint rows = push.word[1];
    uint columns = block_words / rows;
    uint length = push.word[2];
    uint first_row = group() * rows;
    Reals operand = Reals(push.address[1]);
    bool sums_row = local < rows && first_row + local < push.word[0];
    precise float sum = 0.0F;
    if (sums_row) sum = operand.at[first_of(first_row + local)];
    for (uint start = 1U; start < length; start += columns) {
        for (uint i = 0U; i < 32U; ++i) {
            uint at = i * gl_WorkGroupSize.x + local;
            uint row = at / columns;
            uint column = at % columns;
            if (first_row + row < push.word[0] && start + column < length)
                block[row * (columns + 1U) + column] =
                    operand.at[first_of(first_row + row) + start + column];
        }
        barrier();
        uint count = min(columns, length - start);
        if (sums_row)
            for (uint column = 0U; column < count; ++column)
                sum = op_add(sum, block[local * (columns + 1U) + column]);
        barrier();
    }
    uint row = first_row + local;
    if (sums_row)
        Reals(push.address[0]).at[(row / push.word[3]) * push.word[5] + row % push.word[3]] = sum;
}
