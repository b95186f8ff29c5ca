#version 460
#extension GL_GOOGLE_include_directive : require
#include "prelude.glsl"
#include "elementary.glsl"
#include "ops.glsl"
#include "status.glsl"

// Adds rows of values to the rows of a result that their indices name, in the order of the
// indices: an invocation owns one word of the result and looks through all indices. An index out
// of range is reported and its row left out. A dispatch adds the rows of indices [begin, end) to the
// result so far.
// Push: addresses {result, values, indices, status}; words {items, words of a row, indices of an
// individual, rows of the result, error code, words between individuals of result, values,
// indices, begin, end}.

layout(constant_id = 1) const bool real_elements = true;

uint add_words(uint sum, uint word) {
    uint real_sum = floatBitsToUint(op_add(uintBitsToFloat(sum), uintBitsToFloat(word)));
    return real_elements ? real_sum : sum + word;
}

void main() {
    uint item = group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (item >= push.word[0]) return;
    uint row_words = push.word[1];
    uint rows = push.word[3];
    uint column = item % row_words;
    uint row = (item / row_words) % rows;
    uint individual = item / row_words / rows;
    Words values = Words(push.address[1]);
    Words indices = Words(push.address[2]);
    Words result = Words(push.address[0]);
    uint to = individual * push.word[5] + row * row_words + column;
    uint first_value = individual * push.word[6] + column;
    uint first_index = individual * push.word[7];
    bool checks = column == 0U && row == 0U;
    uint sum = push.word[8] == 0U ? 0U : result.at[to];
    for (uint j = push.word[8]; j < push.word[9]; ++j) {
        uint index = indices.at[first_index + j];
        if (checks && index >= rows) report(Words(push.address[3]), push.word[4], index);
        if (index == row) sum = add_words(sum, values.at[first_value + j * row_words]);
    }
    result.at[to] = sum;
}
