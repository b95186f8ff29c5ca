#version 460
#extension GL_GOOGLE_include_directive : require
#include "cambrian/gpu/shaders/prelude.glsl"
#include "cambrian/gpu/shaders/elementary.glsl"
#include "cambrian/gpu/shaders/number_formats.glsl"

// Rows of numbers as codes of a storage format, from the low bits of a word on; what a row leaves of
// its last word is zero. Push: addresses {words, numbers}; words {items, words of a row, numbers of
// a row, rows of an individual, words between individuals of words and numbers}.

layout(constant_id = 1) const uint format = 0U;

void main() {
    uint item = group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (item >= push.word[0]) return;
    uint row = item / push.word[1];
    uint word = item - row * push.word[1];
    uint individual = row / push.word[3];
    uint inner_row = row - individual * push.word[3];
    uint bits = bits_of_code(format);
    uint first = word * (32U / bits);
    uint count = min(32U / bits, push.word[2] - first);
    uint from = individual * push.word[5] + inner_row * push.word[2] + first;
    uint packed = 0U;
    for (uint i = 0U; i < count; ++i)
        packed |= encode_number(format, Reals(push.address[1]).at[from + i]) << (i * bits);
    uint to = individual * push.word[4] + inner_row * push.word[1] + word;
    Words(push.address[0]).at[to] = packed;
}
