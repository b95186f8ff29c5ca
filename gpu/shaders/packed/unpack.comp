#version 460
#extension GL_GOOGLE_include_directive : require
#include "cambrian/gpu/shaders/prelude.glsl"
#include "cambrian/gpu/shaders/elementary.glsl"
#include "cambrian/gpu/shaders/ops.glsl"
#include "cambrian/gpu/shaders/number_formats.glsl"

// Rows of codes as numbers. Push: addresses {numbers, words, scales, zero points}; words {items, numbers of a
// row, rows of an individual, words between individuals of each of the four}.

layout(constant_id = 1) const uint packed_kind = 0U;
layout(constant_id = 2) const uint packed_bits = 8U;
layout(constant_id = 3) const uint packed_group = 0U;
#include "cambrian/gpu/shaders/packed/packed.glsl"

void main() {
    uint item = group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (item >= push.word[0]) return;
    uint length = push.word[1];
    uint row = item / length;
    uint column = item - row * length;
    uint individual = row / push.word[2];
    row -= individual * push.word[2];
    uint64_t bytes = 4UL * uint64_t(individual);
    PackedRows rows = PackedRows(push.address[1] + bytes * uint64_t(push.word[4]),
                                 push.address[2] + bytes * uint64_t(push.word[5]),
                                 push.address[3] + bytes * uint64_t(push.word[6]), length);
    uint word = Words(rows.words).at[row * packed_row_words(rows) + column / packed_in_word];
    float value = packed_value(word, column % packed_in_word, packed_scaling(rows, row, column));
    Reals(push.address[0] + bytes * uint64_t(push.word[3])).at[row * length + column] = value;
}
