#version 460
#extension GL_GOOGLE_include_directive : require
#include "cambrian/gpu/shaders/prelude.glsl"
#include "cambrian/gpu/shaders/elementary.glsl"
#include "cambrian/gpu/shaders/ops.glsl"
#include "cambrian/gpu/shaders/order/cumsum.glsl"

// Running sums of rows of words in order, one invocation for each row. All invocations of the
// workgroup fetch and store a block of its rows together, as neighbours in memory. A dispatch takes
// elements [begin, end) of each row and goes on from the result so far.
// Push: addresses {result, operand}; words {rows, rows of a workgroup, elements of a row, rows of an
// individual, words between individuals of result, operand, begin, end, flags}.

const uint block_words = 32U * gl_WorkGroupSize.x;
shared uint block[33U * gl_WorkGroupSize.x];

uint word_of(uint row, uint place, uint stride) {
    uint individual = row / push.word[3];
    uint line = row % push.word[3];
    uint length = push.word[2];
    uint k = has(push.word[8], reversed) ? length - 1U - place : place;
    return individual * stride + line * length + k;
}

uint load(uint row, uint place) {
    return Words(push.address[1]).at[word_of(row, place, push.word[5])];
}

// The sum of all that lies before a place > 0.
uint sum_so_far(uint row, uint place) {
    uint last = Words(push.address[0]).at[word_of(row, place - 1U, push.word[4])];
    if (!has(push.word[8], exclusive)) return last;
    return add_words(place == 1U ? nothing : last, load(row, place - 1U));
}

void main() {
    uint local = gl_LocalInvocationID.x;
    uint rows = push.word[1];
    uint columns = block_words / rows;
    uint end = push.word[7];
    uint first_row = group() * rows;
    uint own_row = first_row + local;
    bool sums_row = local < rows && own_row < push.word[0];
    bool excludes = has(push.word[8], exclusive);
    uint sum = nothing;
    if (sums_row && push.word[6] > 0U) sum = sum_so_far(own_row, push.word[6]);
    for (uint start = push.word[6]; start < end; start += columns) {
        for (uint i = 0U; i < 32U; ++i) {
            uint at = i * gl_WorkGroupSize.x + local;
            uint row = at / columns;
            uint column = at % columns;
            if (first_row + row < push.word[0] && start + column < end)
                block[row * (columns + 1U) + column] = load(first_row + row, start + column);
        }
        barrier();
        uint count = sums_row ? min(columns, end - start) : 0U;
        for (uint k = 0U; k < count; ++k) {
            uint at = local * (columns + 1U) + k;
            uint before = start + k == 0U ? 0U : sum;
            sum = add_words(sum, block[at]);
            block[at] = excludes ? before : sum;
        }
        barrier();
        for (uint i = 0U; i < 32U; ++i) {
            uint at = i * gl_WorkGroupSize.x + local;
            uint row = at / columns;
            uint column = at % columns;
            if (first_row + row < push.word[0] && start + column < end)
                Words(push.address[0])
                    .at[word_of(first_row + row, start + column, push.word[4])] =
                    block[row * (columns + 1U) + column];
        }
        barrier();
    }
}
