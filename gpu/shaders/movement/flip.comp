#version 460
#extension GL_GOOGLE_include_directive : require
#include "cambrian/gpu/shaders/prelude.glsl"

// An axis from its end.
// Push: addresses {result, operand}; words {items, inner, elements of the axis, outer, words between
// individuals of result, operand}.

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
    uint to = (outer * length + k) * inner + column;
    uint from = (outer * length + (length - 1U - k)) * inner + column;
    Words(push.address[0]).at[individual * push.word[4] + to] =
        Words(push.address[1]).at[individual * push.word[5] + from];
}
