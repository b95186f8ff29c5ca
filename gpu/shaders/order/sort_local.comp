#version 460
#extension GL_GOOGLE_include_directive : require
#include "cambrian/gpu/shaders/prelude.glsl"
#include "cambrian/gpu/shaders/elementary.glsl"
#include "cambrian/gpu/shaders/order/sort.glsl"

// Sorts rows, or chunks of longer ones, in shared memory: a bitonic network whose every comparison
// puts the smaller pair first. What a chunk lacks counts as above all. A chunk of `chunk` elements
// comes from the operand or as pairs, and its first `keep` go out, as pairs or as elements and
// indices.
// Push: addresses {keys or elements out, indices out, operand, keys in, indices in}; words {rows,
// elements of a row that come in, that go out, chunk, keep, inner, rows of an individual, elements of
// the axis, words between individuals of operand, keys in, indices in, keys out, indices out, flags}.

layout(constant_id = 1) const bool real_elements = true;
layout(constant_id = 2) const uint room = 1024U;  // Pairs of a workgroup.

const uint pairs_in = 1U;
const uint halves_are_merged = 2U;  // The chunk is what a stage over longer distances left.
const uint elements_out = 4U;
const uint descending = 8U;

shared uvec2 pairs[room];

bool has(uint flag) {
    return (push.word[13] & flag) != 0U;
}

// NaN is above everything, both zeros are one number.
uint key_of(uint word) {
    uint magnitude = word & magnitude_mask;
    uint bits = magnitude == 0U ? 0U : word;
    uint real_key = magnitude > exponent_mask ? ~0U : bits >= sign_mask ? ~bits : bits | sign_mask;
    uint key = real_elements ? real_key : word ^ sign_mask;
    return has(descending) ? ~key : key;
}

// Word of element k of a row of `length` elements.
uint word_of(uint row, uint k, uint length, uint stride) {
    uint individual = row / push.word[6];
    uint line = row - individual * push.word[6];
    uint inner = push.word[5];
    uint outer = line / inner;
    return individual * stride + (outer * length + k) * inner + (line - outer * inner);
}

uvec2 load_pair(uint row, uint k) {
    uint length = push.word[1];
    if (has(pairs_in))
        return uvec2(Words(push.address[3]).at[word_of(row, k, length, push.word[9])],
                     Words(push.address[4]).at[word_of(row, k, length, push.word[10])]);
    return uvec2(key_of(Words(push.address[2]).at[word_of(row, k, length, push.word[8])]), k);
}

void store_pair(uint row, uint k, uvec2 pair) {
    uint length = push.word[2];
    uint word = pair.x;
    if (has(elements_out))
        word = Words(push.address[2]).at[word_of(row, pair.y, push.word[7], push.word[8])];
    Words(push.address[0]).at[word_of(row, k, length, push.word[11])] = word;
    Words(push.address[1]).at[word_of(row, k, length, push.word[12])] = pair.y;
}

void order(uint a, uint b) {
    uvec2 low = pairs[a];
    uvec2 high = pairs[b];
    if (!comes_before(high, low)) return;
    pairs[a] = high;
    pairs[b] = low;
}

void main() {
    uint local = gl_LocalInvocationID.x;
    uint chunk = push.word[3];
    uint chunks = (push.word[1] + chunk - 1U) / chunk;
    uint first = group() * (room / chunk);
    for (uint e = local; e < room; e += gl_WorkGroupSize.x) {
        uint part = first + e / chunk;
        uint row = part / chunks;
        uint k = (part - row * chunks) * chunk + (e & (chunk - 1U));
        bool exists = row < push.word[0] && k < push.word[1];
        pairs[e] = exists ? load_pair(row, k) : uvec2(~0U);
    }
    barrier();
    bool merged = has(halves_are_merged);
    for (uint size = merged ? chunk : 2U; size <= chunk; size *= 2U) {
        for (uint reach = size / 2U; reach > 0U; reach /= 2U) {
            bool mirrored = 2U * reach == size && !merged;
            for (uint t = local; t < room / 2U; t += gl_WorkGroupSize.x) {
                uint a = 2U * t - (t & (reach - 1U));
                order(a, mirrored ? a ^ (size - 1U) : a + reach);
            }
            barrier();
        }
    }
    for (uint e = local; e < room; e += gl_WorkGroupSize.x) {
        uint part = first + e / chunk;
        uint row = part / chunks;
        uint k = e & (chunk - 1U);
        uint to = (part - row * chunks) * push.word[4] + k;
        if (row < push.word[0] && k < push.word[4] && to < push.word[2])
            store_pair(row, to, pairs[e]);
    }
}
