#version 460
#extension GL_GOOGLE_include_directive : require
#include "prelude.glsl"
#include "elementary.glsl"
#include "ops.glsl"
#include "reduce.glsl"

// Folds elements that lie `inner` words apart, from the first to the last, one invocation for each
// result. A long axis is cut into parts with a result each.
// Push: addresses {result, operand}; words {items, inner, parts, elements of a part, elements of
// the axis, outer positions of an individual, words between individuals of operand and result}.
void main() {
    uint item = group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (item >= push.word[0]) return;
    uint inner = push.word[1];
    uint column = item % inner;
    uint segment = item / inner;
    uint part = segment % push.word[2];
    uint outer = segment / push.word[2];
    uint individual = outer / push.word[5];
    uint position = outer % push.word[5];
    uint start = part * push.word[3];
    uint length = min(push.word[3], push.word[4] - start);
    uint first =
        individual * push.word[6] + (position * push.word[4] + start) * inner + column;
    Words operand = Words(push.address[1]);
    uvec2 folded = fold_start(operand.at[first], 0U);
    uint k = 1U;
    for (; k + 4U <= length; k += 4U) {
        uint at = first + k * inner;
        uint a = operand.at[at];
        uint b = operand.at[at + inner];
        uint c = operand.at[at + 2U * inner];
        uint d = operand.at[at + 3U * inner];
        folded = fold(folded, fold_start(a, k));
        folded = fold(folded, fold_start(b, k + 1U));
        folded = fold(folded, fold_start(c, k + 2U));
        folded = fold(folded, fold_start(d, k + 3U));
    }
    for (; k < length; ++k) folded = fold(folded, fold_start(operand.at[first + k * inner], k));
    uint to = individual * push.word[7] + (position * push.word[2] + part) * inner + column;
    Words(push.address[0]).at[to] =
        fold_result(folded, operand, first, inner, push.word[4], start == 0U);
}
