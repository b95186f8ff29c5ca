#version 460
#extension GL_GOOGLE_include_directive : require
#include "cambrian/gpu/shaders/prelude.glsl"
#include "cambrian/gpu/shaders/order/sort.glsl"

// One step of a bitonic network over rows longer than a workgroup sorts: pairs whose distance is
// `reach`, or that mirror each other within `size` elements, are put in order. What a row lacks to a
// power of two counts as above all and stays where it is.
// Push: addresses {keys, indices}; words {items, pairs of a row, inner, outer, elements of a row,
// reach, size (0: no mirror), words between individuals of keys, indices}.

void main() {
    uint item = group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (item >= push.word[0]) return;
    uint inner = push.word[2];
    uint column = item % inner;
    uint t = item / inner % push.word[1];
    uint line = item / inner / push.word[1];
    uint outer = line % push.word[3];
    uint individual = line / push.word[3];
    uint reach = push.word[5];
    uint a = 2U * t - (t & (reach - 1U));
    uint b = push.word[6] != 0U ? a ^ (push.word[6] - 1U) : a + reach;
    if (b >= push.word[4]) return;
    uint first = outer * push.word[4];
    uint low_at = (first + a) * inner + column;
    uint high_at = (first + b) * inner + column;
    Words keys = Words(push.address[0]);
    Words indices = Words(push.address[1]);
    uint keys_from = individual * push.word[7];
    uint indices_from = individual * push.word[8];
    uvec2 low = uvec2(keys.at[keys_from + low_at], indices.at[indices_from + low_at]);
    uvec2 high = uvec2(keys.at[keys_from + high_at], indices.at[indices_from + high_at]);
    if (!comes_before(high, low)) return;
    keys.at[keys_from + low_at] = high.x;
    keys.at[keys_from + high_at] = low.x;
    indices.at[indices_from + low_at] = high.y;
    indices.at[indices_from + high_at] = low.y;
}
