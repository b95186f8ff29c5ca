#version 460
#extension GL_GOOGLE_include_directive : require
#include "cambrian/gpu/shaders/prelude.glsl"
#include "cambrian/gpu/shaders/elementary.glsl"
#include "cambrian/gpu/shaders/ops.glsl"
#include "cambrian/gpu/shaders/reduce/reduce.glsl"

// Folds runs of consecutive words, each by `lanes` invocations: vector v goes to lane v % lanes,
// then the four columns of a lane and the lanes are folded as a tree. The shape depends on the
// length only. A long row is cut into segments with a result each.
// Push: addresses {result, operand}; words {segments, lanes, segments of a row, words of a segment,
// words of a row, rows of an individual, words between individuals of operand and result}.

shared uvec2 folded[gl_WorkGroupSize.x];

uvec4 load_vector(Words operand, uint first, uint vector, bool aligned) {
    uint at = first + 4U * vector;
    if (aligned) return Words4(uint64_t(operand)).at[at / 4U];
    return uvec4(operand.at[at], operand.at[at + 1U], operand.at[at + 2U], operand.at[at + 3U]);
}

struct Columns {
    uvec2 x, y, z, w;
};

Columns fold_vector(Columns columns, uvec4 words, uint index) {
    return Columns(fold(columns.x, fold_start(words.x, index)),
                   fold(columns.y, fold_start(words.y, index + 1U)),
                   fold(columns.z, fold_start(words.z, index + 2U)),
                   fold(columns.w, fold_start(words.w, index + 3U)));
}

uvec2 fold_lane(Words operand, uint first, uint length, uint lane, uint lanes) {
    bool aligned = (uint(uint64_t(operand)) & 15U) == 0U && first % 4U == 0U;
    uvec2 start = sums ? uvec2(0U) : fold_start(operand.at[first], 0U);
    Columns columns = Columns(start, start, start, start);
    uint vectors = length / 4U;
    uint v = lane;
    // Four loads before they are used: latency is hidden by what is in flight.
    for (; v + 3U * lanes < vectors; v += 4U * lanes) {
        uvec4 a = load_vector(operand, first, v, aligned);
        uvec4 b = load_vector(operand, first, v + lanes, aligned);
        uvec4 c = load_vector(operand, first, v + 2U * lanes, aligned);
        uvec4 d = load_vector(operand, first, v + 3U * lanes, aligned);
        columns = fold_vector(columns, a, 4U * v);
        columns = fold_vector(columns, b, 4U * (v + lanes));
        columns = fold_vector(columns, c, 4U * (v + 2U * lanes));
        columns = fold_vector(columns, d, 4U * (v + 3U * lanes));
    }
    for (; v < vectors; v += lanes) {
        columns = fold_vector(columns, load_vector(operand, first, v, aligned), 4U * v);
    }
    if (v == vectors) {  // The lane whose turn it is takes what is left.
        uint at = 4U * vectors;
        if (at < length) columns.x = fold(columns.x, fold_start(operand.at[first + at], at));
        if (at + 1U < length)
            columns.y = fold(columns.y, fold_start(operand.at[first + at + 1U], at + 1U));
        if (at + 2U < length)
            columns.z = fold(columns.z, fold_start(operand.at[first + at + 2U], at + 2U));
    }
    return fold(fold(columns.x, columns.y), fold(columns.z, columns.w));
}

void main() {
    uint lanes = push.word[1];
    uint local = gl_LocalInvocationID.x;
    uint lane = local % lanes;
    uint segment = group() * (gl_WorkGroupSize.x / lanes) + local / lanes;
    bool exists = segment < push.word[0];
    Words operand = Words(push.address[1]);
    uint row = segment / push.word[2];
    uint part = segment % push.word[2];
    uint individual = row / push.word[5];
    uint row_of_individual = row % push.word[5];
    uint start = part * push.word[3];
    uint first = individual * push.word[6] + row_of_individual * push.word[4] + start;
    uint length = min(push.word[3], push.word[4] - start);
    folded[local] = exists ? fold_lane(operand, first, length, lane, lanes) : uvec2(0U);
    for (uint reach = lanes / 2U; reach > 0U; reach /= 2U) {
        barrier();
        if (lane < reach) folded[local] = fold(folded[local], folded[local + reach]);
    }
    if (!exists || lane != 0U) return;
    uint to = individual * push.word[7] + row_of_individual * push.word[2] + part;
    Words(push.address[0]).at[to] =
        fold_result(folded[local], operand, first, 1U, start == 0U);
}
