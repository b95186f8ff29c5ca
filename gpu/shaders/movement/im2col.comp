#version 460
#extension GL_GOOGLE_include_directive : require
#include "cambrian/gpu/shaders/prelude.glsl"
#include "cambrian/gpu/shaders/movement/window.glsl"

// What every tap of every window reads: an invocation writes one word. Word 7: what lies outside.

void main() {
    uint item = group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (item >= push.word[0]) return;
    uint individual = item / push.word[3];
    uint at = item % push.word[3];
    uint window = at % push.word[4];
    uint tap = at / push.word[4] % push.word[5];
    uint plane = at / push.word[4] / push.word[5];
    uint element = individual * push.word[2] + plane * push.word[6];
    uint step = 1U;
    bool inside = true;
    [[unroll]] for (uint i = 0U; i < rank; ++i) {
        Axis axis = axis_of(i);
        // Wraps around in front of the first element.
        uint along = window % axis.positions * axis.stride + tap % axis.kernel * axis.dilation -
                     axis.before;
        window /= axis.positions;
        tap /= axis.kernel;
        inside = inside && along < axis.elements;
        element += along * step;
        step *= axis.elements;
    }
    uint word = push.word[7];
    if (inside) word = Words(push.address[1]).at[element];
    Words(push.address[0]).at[individual * push.word[1] + at] = word;
}
