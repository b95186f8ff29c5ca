#version 460
#extension GL_GOOGLE_include_directive : require
#include "cambrian/gpu/shaders/prelude.glsl"
#include "cambrian/gpu/shaders/philox.glsl"

// Uniform draws for each id under a key, one block of four draws an invocation.
// Push: addresses {result, key (two words), ids}; words {items, ids of an individual, draws of an
// id, blocks of an id, words between individuals of result, key and ids}.
void main() {
    uint item = group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (item >= push.word[0]) return;
    uint draws = push.word[2];
    uint block = item % push.word[3];
    uint position = (item / push.word[3]) % push.word[1];
    uint individual = item / push.word[3] / push.word[1];
    Words key = Words(push.address[1]);
    uint key_at = individual * push.word[5];
    uint id = Words(push.address[2]).at[individual * push.word[6] + position];
    vec4 uniforms = random_uniforms(uvec2(key.at[key_at], key.at[key_at + 1U]), id, block);
    Reals result = Reals(push.address[0]);
    uint at = individual * push.word[4] + position * draws + 4U * block;
    uint count = min(4U, draws - 4U * block);
    result.at[at] = uniforms.x;
    if (count > 1U) result.at[at + 1U] = uniforms.y;
    if (count > 2U) result.at[at + 2U] = uniforms.z;
    if (count > 3U) result.at[at + 3U] = uniforms.w;
}
