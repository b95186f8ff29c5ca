#version 460
#extension GL_GOOGLE_include_directive : require
#include "cambrian/gpu/shaders/prelude.glsl"
#include "cambrian/gpu/shaders/status.glsl"

// Reports integers that are zero. Push: addresses {integers, status}; words {items, integers of an
// individual, words between individuals, error code}.

void main() {
    uint item = group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (item >= push.word[0]) return;
    uint individual = item / push.word[1];
    uint position = item - individual * push.word[1];
    if (Words(push.address[0]).at[individual * push.word[2] + position] == 0U)
        report(Words(push.address[1]), push.word[3], 0U);
}
