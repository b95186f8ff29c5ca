#version 460
#extension GL_GOOGLE_include_directive : require
#include "cambrian/gpu/shaders/prelude.glsl"
#include "cambrian/gpu/shaders/elementary.glsl"
#include "cambrian/gpu/shaders/ops.glsl"
#include "cambrian/gpu/shaders/movement/window.glsl"

// Adds to every element what the taps that read it hold, in order of tap: an invocation owns one
// element. A dispatch adds the taps [word 7, word 8) to the result so far.

// The window of which a tap reads an element, in x, and whether there is one, in y.
uvec2 window_of(uint element, uint tap) {
    uint window = 0U;
    uint step = 1U;
    bool found = true;
    [[unroll]] for (uint i = 0U; i < rank; ++i) {
        Axis axis = axis_of(i);
        uint padded = element % axis.elements + axis.before;
        uint offset = tap % axis.kernel * axis.dilation;
        uint distance = padded - offset;
        uint position = distance / axis.stride;
        found = found && padded >= offset && position * axis.stride == distance &&
                position < axis.positions;
        window += position * step;
        step *= axis.positions;
        element /= axis.elements;
        tap /= axis.kernel;
    }
    return uvec2(window, found ? 1U : 0U);
}

void main() {
    uint item = group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (item >= push.word[0]) return;
    uint individual = item / push.word[3];
    uint at = item % push.word[3];
    uint element = at % push.word[6];
    uint plane = at / push.word[6];
    uint from = individual * push.word[2] + plane * push.word[5] * push.word[4];
    uint to = individual * push.word[1] + at;
    float sum = 0.0F;
    if (push.word[7] > 0U) sum = Reals(push.address[0]).at[to];
    [[dont_unroll]] for (uint tap = push.word[7]; tap < push.word[8]; ++tap) {
        uvec2 window = window_of(element, tap);
        if (window.y != 0U) {
            sum = op_add(sum, Reals(push.address[1]).at[from + tap * push.word[4] + window.x]);
        }
    }
    Reals(push.address[0]).at[to] = sum;
}
