#version 460
#extension GL_GOOGLE_include_directive : require
#include "cambrian/gpu/shaders/prelude.glsl"

// Words between two views with different strides. Addresses: source, target. Words: all words to
// copy, words of one individual, stride of the source (0: all share it), stride of the target.
void main() {
    uint i = group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (i >= push.word[0]) return;
    uint individual = i / push.word[1];
    uint element = i - individual * push.word[1];
    Words(push.address[1]).at[individual * push.word[3] + element] =
        Words(push.address[0]).at[individual * push.word[2] + element];
}
