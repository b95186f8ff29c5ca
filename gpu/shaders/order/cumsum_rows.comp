#version 460
#extension GL_GOOGLE_include_directive : require
#include "cambrian/gpu/shaders/prelude.glsl"
#include "cambrian/gpu/shaders/elementary.glsl"
#include "cambrian/gpu/shaders/ops.glsl"
#include "cambrian/gpu/shaders/order/cumsum.glsl"

// Running sums of consecutive words, each part of a row by `lanes` invocations: a lane adds up four
// elements, then the sums of the lanes before it. The order of the additions depends on the length
// alone.
// Push: addresses {result, operand, offsets}; words {parts of all rows, lanes, parts of a row, elements
// of a row, rows of an individual, words between individuals of result, operand, offsets, flags}.

shared uint sums[gl_WorkGroupSize.x];

void main() {
    uint lanes = push.word[1];
    uint local = gl_LocalInvocationID.x;
    uint lane = local % lanes;
    uint segment = group() * (gl_WorkGroupSize.x / lanes) + local / lanes;
    bool exists = segment < push.word[0];
    uint parts = push.word[2];
    uint length = push.word[3];
    uint flags = push.word[8];
    uint row = segment / parts;
    uint part = segment % parts;
    uint individual = row / push.word[4];
    uint line = row % push.word[4];
    uint first = 4U * (part * lanes + lane);
    uint operand_from = individual * push.word[6] + line * length;
    bool reverse = has(flags, reversed);

    uint own[4];
    [[unroll]] for (uint j = 0U; j < 4U; ++j) {
        uint place = first + j;
        bool inside = exists && place < length;
        uint word = nothing;
        if (inside)
            word = Words(push.address[1])
                       .at[operand_from + (reverse ? length - 1U - place : place)];
        own[j] = j == 0U ? word : add_words(own[max(j, 1U) - 1U], word);
    }
    sums[local] = own[3];
    for (uint reach = 1U; reach < lanes; reach *= 2U) {
        barrier();
        uint before = lane >= reach ? sums[local - reach] : nothing;
        barrier();
        if (lane >= reach) sums[local] = add_words(before, sums[local]);
    }
    barrier();
    if (!exists) return;
    uint result_from = individual * push.word[5];
    Words result = Words(push.address[0]);
    if (has(flags, totals_only)) {
        if (lane + 1U == lanes) result.at[result_from + line * parts + part] = sums[local];
        return;
    }
    uint before = lane > 0U ? sums[local - 1U] : nothing;
    if (has(flags, has_offsets) && part > 0U)
        before = add_words(
            Words(push.address[2]).at[individual * push.word[7] + line * parts + part], before);
    [[unroll]] for (uint j = 0U; j < 4U; ++j) {
        uint place = first + j;
        if (place >= length) continue;
        uint with_own = add_words(before, own[j]);
        uint without_own = j == 0U ? before : add_words(before, own[max(j, 1U) - 1U]);
        if (place == 0U) without_own = 0U;
        result.at[result_from + line * length + (reverse ? length - 1U - place : place)] =
            has(flags, exclusive) ? without_own : with_own;
    }
}
