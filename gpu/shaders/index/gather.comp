#version 460
#extension GL_GOOGLE_include_directive : require
#include "cambrian/gpu/shaders/prelude.glsl"
#include "cambrian/gpu/shaders/status.glsl"

// Rows of a table by index; an index out of range is reported and gives zeros.
// Push: addresses {result, table, indices, status}; words {items, items of a row, indices of an
// individual, rows of the table, error code, words between individuals of result, table, indices}.

// Words of one item: 4 where all rows are aligned vectors, else 1.
layout(constant_id = 1) const uint width = 1U;

void main() {
    uint item = group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (item >= push.word[0]) return;
    uint row_items = push.word[1];
    uint column = item % row_items;
    uint position = (item / row_items) % push.word[2];
    uint individual = item / row_items / push.word[2];
    uint index = Words(push.address[2]).at[individual * push.word[7] + position];
    bool valid = index < push.word[3];
    if (!valid && column == 0U) report(Words(push.address[3]), push.word[4], index);
    uint to = individual * push.word[5] + (position * row_items + column) * width;
    // In 64 bits: a table may have more words than an index reaches.
    uint64_t first = uint64_t(individual) * uint64_t(push.word[6]) +
                     uint64_t(valid ? index : 0U) * uint64_t(row_items * width);
    uint64_t from = push.address[1] + 4UL * (first + uint64_t(column * width));
    if (width == 1U) {
        Words(push.address[0]).at[to] = valid ? Words(from).at[0] : 0U;
    } else {
        uvec4 words = Words4(from).at[0];
        Words4(push.address[0]).at[to / 4U] = valid ? words : uvec4(0U);
    }
}
