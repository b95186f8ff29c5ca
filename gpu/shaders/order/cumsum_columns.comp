#version 460
#extension GL_GOOGLE_include_directive : require
#include "cambrian/gpu/shaders/prelude.glsl"
#include "cambrian/gpu/shaders/elementary.glsl"
#include "cambrian/gpu/shaders/ops.glsl"
#include "cambrian/gpu/shaders/order/cumsum.glsl"

// Running sums of elements that lie `inner` words apart, one invocation for each part of an axis. A
// dispatch takes elements [begin, end) of each part and goes on from the result so far.
// Push: addresses {result, operand, offsets}; words {items, inner, parts, elements of a part, elements
// of the axis, outer, words between individuals of result, operand, offsets, begin, end, flags}.

Words result;
Words operand;
uint result_from, operand_from, inner, length, start, flags;

uint word_of(uint k) {
    uint place = start + k;
    return (has(flags, reversed) ? length - 1U - place : place) * inner;
}

uint load(uint k) {
    return operand.at[operand_from + word_of(k)];
}

// The sum of all that lies before element k > 0 of the part.
uint sum_so_far(uint k) {
    uint last = result.at[result_from + word_of(k - 1U)];
    if (!has(flags, exclusive)) return last;
    return add_words(start + k == 1U ? nothing : last, load(k - 1U));
}

uint add_element(uint sum, uint word, uint k) {
    uint next = add_words(sum, word);
    uint before = start + k == 0U ? 0U : sum;
    if (!has(flags, totals_only))
        result.at[result_from + word_of(k)] = has(flags, exclusive) ? before : next;
    return next;
}

void main() {
    uint item = group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (item >= push.word[0]) return;
    inner = push.word[1];
    uint parts = push.word[2];
    length = push.word[4];
    flags = push.word[11];
    uint column = item % inner;
    uint part = item / inner % parts;
    uint line = item / inner / parts;
    uint outer = line % push.word[5];
    uint individual = line / push.word[5];
    start = part * push.word[3];
    uint end = min(push.word[10], length - start);
    result = Words(push.address[0]);
    operand = Words(push.address[1]);
    operand_from = individual * push.word[7] + outer * length * inner + column;
    result_from = individual * push.word[6] + outer * length * inner + column;
    uint of_part = (outer * parts + part) * inner + column;

    uint k = push.word[9];
    uint sum = nothing;
    if (k > 0U) {
        sum = sum_so_far(k);
    } else if (has(flags, has_offsets) && part > 0U) {
        sum = Words(push.address[2]).at[individual * push.word[8] + of_part];
    }
    for (; k + 4U <= end; k += 4U) {
        uint a = load(k);
        uint b = load(k + 1U);
        uint c = load(k + 2U);
        uint d = load(k + 3U);
        sum = add_element(sum, a, k);
        sum = add_element(sum, b, k + 1U);
        sum = add_element(sum, c, k + 2U);
        sum = add_element(sum, d, k + 3U);
    }
    for (; k < end; ++k) sum = add_element(sum, load(k), k);
    if (has(flags, totals_only)) result.at[individual * push.word[6] + of_part] = sum;
}
