#version 460
#extension GL_GOOGLE_include_directive : require
#include "cambrian/gpu/shaders/prelude.glsl"

// 0, 1, 2, ... Push: addresses {result}; words {count}.
void main() {
    uint item = group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (item < push.word[0]) Words(push.address[0]).at[item] = item;
}
