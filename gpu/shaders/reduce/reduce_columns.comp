#version 460
#extension GL_GOOGLE_include_directive : require
#include "cambrian/gpu/shaders/prelude.glsl"
#include "cambrian/gpu/shaders/elementary.glsl"
#include "cambrian/gpu/shaders/ops.glsl"
#include "cambrian/gpu/shaders/reduce/reduce.glsl"

// Folds elements that lie `inner` words apart, from the first to the last, one invocation for each
// result. A long axis is cut into parts with a result each.
// A dispatch folds elements [begin, end) of each part and goes on from the result so far.
// Push: addresses {result, operand}; words {items, inner, parts, elements of a part, elements of
// the axis, outer positions of an individual, words between individuals of operand and result,
// begin, end}.

// A sum, the largest element, which then has place 0, or its place.
uvec2 fold_so_far(uint so_far, Words operand, uint first, uint inner) {
    if (sums) return uvec2(so_far, 0U);
    if (largest) return fold_start(so_far, 0U);
    return fold_start(operand.at[first + so_far * inner], so_far);
}

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
    uint end = min(push.word[9], push.word[4] - start);
    uint first =
        individual * push.word[6] + (position * push.word[4] + start) * inner + column;
    uint to = individual * push.word[7] + (position * push.word[2] + part) * inner + column;
    Words operand = Words(push.address[1]);
    Words result = Words(push.address[0]);
    uint k = push.word[8];
    uvec2 folded;
    if (k == 0U) {
        folded = fold_start(operand.at[first], 0U);
        k = 1U;
    } else {
        folded = fold_so_far(result.at[to], operand, first, inner);
    }
    for (; k + 4U <= end; k += 4U) {
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
    for (; k < end; ++k) folded = fold(folded, fold_start(operand.at[first + k * inner], k));
    // The largest element of earlier dispatches is there already.
    if (largest && push.word[8] > 0U && folded.y == 0U) return;
    result.at[to] = fold_result(folded, operand, first, inner, start == 0U);
}
