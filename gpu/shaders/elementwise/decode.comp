#version 460
#extension GL_GOOGLE_include_directive : require
#include "cambrian/gpu/shaders/prelude.glsl"
#include "cambrian/gpu/shaders/elementary.glsl"
#include "cambrian/gpu/shaders/number_formats.glsl"

// Rows of codes of a storage format as numbers. Push: addresses {numbers, words}; words {items,
// numbers of a row, words of a row, rows of an individual, words between individuals of numbers and
// words}.

layout(constant_id = 1) const uint format = 0U;

void main() {
    uint item = group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (item >= push.word[0]) return;
    uint row = item / push.word[1];
    uint column = item - row * push.word[1];
    uint individual = row / push.word[3];
    uint inner_row = row - individual * push.word[3];
    uint bits = bits_of_code(format);
    uint in_word = 32U / bits;
    uint from = individual * push.word[5] + inner_row * push.word[2] + column / in_word;
    uint code = (Words(push.address[1]).at[from] >> (column % in_word * bits)) & ((1U << bits) - 1U);
    uint to = individual * push.word[4] + inner_row * push.word[1] + column;
    Words(push.address[0]).at[to] = floatBitsToUint(decode_number(format, code));
}
