#version 460
#extension GL_GOOGLE_include_directive : require
#include "cambrian/gpu/shaders/prelude.glsl"
#include "cambrian/gpu/shaders/elementary.glsl"

// Attention of few queries: a workgroup has some queries of a key head and one part of its keys, a
// thread one key for their scores, and four columns of every so many values for their sums. Where there
// is one part it gives the result, else a partial state (few_queries.glsl). Tiles of a head are parts
// by queries.

layout(constant_id = 1) const uint queries = 1;         // Of a workgroup.
layout(constant_id = 2) const uint column_threads = 1;  // A power of two, threads for values of a key.

#include "cambrian/gpu/shaders/attention/few_queries.glsl"

const uint threads = gl_WorkGroupSize.x;  // A power of two, and the keys of a part.
const uint depth_quads = 16U;             // Of queries, in shared memory at once.

shared vec4 query_tile[queries * depth_quads];
shared float reduced[queries * threads];
shared float weights[queries * threads];
shared vec4 gathered[threads];

void load_queries(Matrix q, uint first_query, uint first_column) {
    barrier();
    for (uint i = gl_LocalInvocationIndex; i < queries * depth_quads; i += threads) {
        query_tile[i] = load_quad(q, first_query + i / depth_quads,
                                  first_column + 4U * (i % depth_quads));
    }
    barrier();
}

// Of one key with all queries.
void multiply(Matrix q, uint first_query, Matrix k, Matrix own, uint key,
              out float products[queries]) {
    [[unroll]] for (uint r = 0U; r < queries; ++r) products[r] = 0.0F;
    for (uint first = 0U; first < q.width; first += 4U * depth_quads) {
        load_queries(q, first_query, first);
        for (uint quad = 0U; quad < depth_quads && first + 4U * quad < q.width; ++quad) {
            vec4 right = load_row(k, own, key, first + 4U * quad);
            [[unroll]] for (uint r = 0U; r < queries; ++r) {
                vec4 left = query_tile[r * depth_quads + quad];
                [[unroll]] for (uint i = 0U; i < 4U; ++i) {
                    products[r] = fma(left[i], right[i], products[r]);
                }
            }
        }
    }
}

// Over all threads: the sum, or the largest, of each query, into the first word of its row.
void reduce(bool sum) {
    for (uint stride = threads / 2U; stride > 0U; stride /= 2U) {
        barrier();
        if (gl_LocalInvocationIndex < stride) {
            [[unroll]] for (uint r = 0U; r < queries; ++r) {
                uint at = r * threads + gl_LocalInvocationIndex;
                float one = reduced[at];
                float other = reduced[at + stride];
                reduced[at] = sum ? one + other : max(one, other);
            }
        }
    }
    barrier();
}

// The scores of this thread's key become weights; `largest` and `totals` are those of the part.
void weigh(float products[queries], Work here, uint first_query, uint key, out float largest[queries],
           out float totals[queries]) {
    float factor = scale();
    float scores[queries];
    [[unroll]] for (uint r = 0U; r < queries; ++r) {
        bool sees = key >= first_seen(here) &&
                    int(key) < seen_keys(first_query + r, int(end_of_seen(here)));
        scores[r] = sees ? products[r] * factor : no_score();
        reduced[r * threads + gl_LocalInvocationIndex] = scores[r];
    }
    reduce(false);
    [[unroll]] for (uint r = 0U; r < queries; ++r) largest[r] = reduced[r * threads];
    barrier();
    [[unroll]] for (uint r = 0U; r < queries; ++r) {
        uint at = r * threads + gl_LocalInvocationIndex;
        weights[at] = own_exp(scores[r] - shift_of(largest[r]));
        reduced[at] = weights[at];
    }
    reduce(true);
    [[unroll]] for (uint r = 0U; r < queries; ++r) totals[r] = reduced[r * threads];
}

// Four columns from `column` on, of the keys of this thread in a range of the part.
void add_weighted(Matrix v, Matrix own, uint first_key, uvec2 range, uint column,
                  out vec4 sums[queries]) {
    [[unroll]] for (uint r = 0U; r < queries; ++r) sums[r] = vec4(0.0F);
    uint begin = range.x + gl_LocalInvocationIndex / column_threads;
    for (uint i = begin; i < range.y; i += threads / column_threads) {
        vec4 value = load_row(v, own, first_key + i, column);
        [[unroll]] for (uint r = 0U; r < queries; ++r) {
            sums[r] = fma(vec4(weights[r * threads + i]), value, sums[r]);
        }
    }
}

// Of the threads with the same columns, valid in the first of them.
vec4 gather(vec4 sum) {
    barrier();
    gathered[gl_LocalInvocationIndex] = sum;
    for (uint stride = threads / 2U; stride >= column_threads; stride /= 2U) {
        barrier();
        if (gl_LocalInvocationIndex < stride) {
            gathered[gl_LocalInvocationIndex] += gathered[gl_LocalInvocationIndex + stride];
        }
    }
    return gathered[gl_LocalInvocationIndex];
}

void main() {
    Work here = work();
    uint parts = push.word[4];
    uint part = here.tile % parts;
    uint first_query = here.tile / parts * queries;
    uint rows = table().at[table_rows];
    uint keys = table().at[table_keys];
    uint width = table().at[table_width];
    uint value_width = table().at[table_value_width];
    uint counted = uint(here.keys);
    uint first_key = part * threads;
    // Of this part, that are seen.
    uvec2 range = clamp(uvec2(first_seen(here), end_of_seen(here)), uvec2(first_key),
                        uvec2(first_key + threads)) - first_key;
    if (parts > 1U && range.x >= range.y) return;  // Nobody reads its state.
    Matrix q = matrix(tensor_q, here, rows, rows, width);
    Matrix k = matrix(tensor_k, here, keys, counted, width);
    Matrix v = matrix(tensor_v, here, keys, counted, value_width);
    Matrix own_key = matrix(tensor_own_key, here, 1U, own_rows(), width);
    Matrix own_value = matrix(tensor_own_value, here, 1U, own_rows(), value_width);
    Matrix result = matrix(tensor_result, here, rows, rows, value_width);

    uint key = first_key + gl_LocalInvocationIndex;
    float products[queries];
    float largest[queries];
    float totals[queries];
    multiply(q, first_query, k, own_key, key, products);
    weigh(products, here, first_query, key, largest, totals);
    for (uint first = 0U; first < value_width; first += 4U * column_threads) {
        uint column = first + 4U * (gl_LocalInvocationIndex % column_threads);
        vec4 sums[queries];
        add_weighted(v, own_value, first_key, range, column, sums);
        [[unroll]] for (uint r = 0U; r < queries; ++r) {
            uint query = first_query + r;
            vec4 sum = gather(sums[r]);
            if (gl_LocalInvocationIndex >= column_threads || query >= rows) continue;
            if (parts == 1U) {
                store_quad(result, query, column, sum * factor_of(totals[r]));
                continue;
            }
            Reals state = partial_state(here, part, query);
            [[unroll]] for (uint i = 0U; i < 4U; ++i) {
                if (column + i < value_width) state.at[column + i] = sum[i];
            }
        }
    }
    if (gl_LocalInvocationIndex > 0U) return;
    [[unroll]] for (uint r = 0U; r < queries; ++r) {
        uint query = first_query + r;
        if (query >= rows) continue;
        if (parts == 1U) {
            store_log_sum_exp(here, query, largest[r], totals[r]);
        } else {
            Reals state = partial_state(here, part, query);
            state.at[value_width] = largest[r];
            state.at[value_width + 1U] = totals[r];
        }
    }
}
