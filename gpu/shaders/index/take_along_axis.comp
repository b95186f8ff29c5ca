#version 460
#extension GL_GOOGLE_include_directive : require
#include "cambrian/gpu/shaders/prelude.glsl"
#include "cambrian/gpu/shaders/status.glsl"

// Elements of an axis by index; an index out of range is reported and gives zero.
// Push: addresses {result, operand, indices, status}; words {items, inner, indices of an axis, outer,
// elements of the operand's axis, error code, words between individuals of result, operand, indices}.

void main() {
    uint item = group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (item >= push.word[0]) return;
    uint inner = push.word[1];
    uint length = push.word[2];
    uint column = item % inner;
    uint k = item / inner % length;
    uint line = item / inner / length;
    uint outer = line % push.word[3];
    uint individual = line / push.word[3];
    uint at = (outer * length + k) * inner + column;
    uint index = Words(push.address[2]).at[individual * push.word[8] + at];
    bool valid = index < push.word[4];
    if (!valid) report(Words(push.address[3]), push.word[5], index);
    uint from = (outer * push.word[4] + (valid ? index : 0U)) * inner + column;
    uint word = Words(push.address[1]).at[individual * push.word[7] + from];
    Words(push.address[0]).at[individual * push.word[6] + at] = valid ? word : 0U;
}
