#version 460
#extension GL_GOOGLE_include_directive : require
#include "cambrian/gpu/shaders/prelude.glsl"
#include "cambrian/gpu/shaders/elementary.glsl"
#include "cambrian/gpu/shaders/ops.glsl"
#include "cambrian/gpu/shaders/status.glsl"

// Adds the values of each index in the order of their positions, from zero. The indices have been
// sorted: an invocation owns one word of the result, finds its index's segment and adds it up. An
// index out of range stands at an end of the order, is reported and left out. A dispatch adds values
// [begin, end) of each segment to the result so far.
// Push: addresses {result, values, keys, positions, status}; words {items, inner, extent, outer,
// indices of an axis, inner of the indices, words between individuals of result, values, keys,
// positions, error code, begin, end}.

layout(constant_id = 1) const bool real_elements = true;

uint add_words(uint sum, uint word) {
    uint real_sum = floatBitsToUint(op_add(uintBitsToFloat(sum), uintBitsToFloat(word)));
    return real_elements ? real_sum : sum + word;
}

// The first position in the order whose key is not below; keys are indices with their sign flipped.
uint lower_bound(Words keys, uint first, uint stride, uint key) {
    uint from = 0U;
    uint count = push.word[4];
    while (count > 0U) {
        uint half_count = count / 2U;
        bool below = keys.at[first + (from + half_count) * stride] < key;
        from = below ? from + half_count + 1U : from;
        count = below ? count - half_count - 1U : half_count;
    }
    return from;
}

void check(Words keys, uint first, uint stride) {
    uint least = keys.at[first] ^ sign_mask;
    uint largest = keys.at[first + (push.word[4] - 1U) * stride] ^ sign_mask;
    Words status = Words(push.address[4]);
    if (least >= push.word[2]) report(status, push.word[10], least);
    if (largest >= push.word[2]) report(status, push.word[10], largest);
}

void main() {
    uint item = group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (item >= push.word[0]) return;
    uint inner = push.word[1];
    uint extent = push.word[2];
    uint length = push.word[4];
    uint stride = push.word[5];
    uint column = item % inner;
    uint index = item / inner % extent;
    uint line = item / inner / extent;
    uint outer = line % push.word[3];
    uint individual = line / push.word[3];
    uint own_column = stride == 1U ? 0U : column;
    uint in_order = outer * length * stride + own_column;
    uint first_key = individual * push.word[8] + in_order;
    Words keys = Words(push.address[2]);
    uint begin = push.word[11];
    if (index == 0U && own_column == column && begin == 0U && length > 0U)
        check(keys, first_key, stride);

    uint segment = lower_bound(keys, first_key, stride, index ^ sign_mask);
    uint count = lower_bound(keys, first_key, stride, (index + 1U) ^ sign_mask) - segment;
    uint end = min(push.word[12], count);
    Words values = Words(push.address[1]);
    Words positions = Words(push.address[3]);
    uint first_position = individual * push.word[9] + in_order + segment * stride;
    uint first_value = individual * push.word[7] + outer * length * inner + column;
    uint to = individual * push.word[6] + (outer * extent + index) * inner + column;
    Words result = Words(push.address[0]);
    uint sum = begin == 0U ? 0U : result.at[to];
    uint k = begin;
    for (; k + 4U <= end; k += 4U) {
        uint at = first_position + k * stride;
        uint a = values.at[first_value + positions.at[at] * inner];
        uint b = values.at[first_value + positions.at[at + stride] * inner];
        uint c = values.at[first_value + positions.at[at + 2U * stride] * inner];
        uint d = values.at[first_value + positions.at[at + 3U * stride] * inner];
        sum = add_words(add_words(add_words(add_words(sum, a), b), c), d);
    }
    for (; k < end; ++k)
        sum = add_words(sum, values.at[first_value +
                                       positions.at[first_position + k * stride] * inner]);
    result.at[to] = sum;
}
