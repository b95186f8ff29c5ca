#version 460
#extension GL_GOOGLE_include_directive : require
#include "cambrian/gpu/shaders/prelude.glsl"

// One row of every head: an invocation writes one word of it at the position of its head, where there
// is one.
// Push:
//   address  result, row, position
//   word     0 words in all, 1 of a row, 2 positions, 3 heads of an individual, 4 heads that share a
//            position; words between individuals: 5 result, 6 row, 7 position

void main() {
    uint item = group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (item >= push.word[0]) return;
    uint column = item % push.word[1];
    uint head = item / push.word[1] % push.word[3];
    uint64_t individual = uint64_t(item / push.word[1] / push.word[3]);
    Integers positions = Integers(push.address[2] + 4UL * individual * uint64_t(push.word[7]));
    int at = positions.at[head / push.word[4]];
    if (at < 0 || at >= int(push.word[2])) return;
    Reals row = Reals(push.address[1] + 4UL * individual * uint64_t(push.word[6]));
    uint64_t first = uint64_t(head * push.word[2] + uint(at)) * uint64_t(push.word[1]);
    Reals result =
        Reals(push.address[0] + 4UL * (individual * uint64_t(push.word[5]) + first));
    result.at[column] = row.at[head * push.word[1] + column];
}
