#version 460
#extension GL_GOOGLE_include_directive : require
#include "cambrian/gpu/shaders/prelude.glsl"
#include "cambrian/gpu/shaders/elementary.glsl"

const uint sum_count = 2U;
const bool last_tile_first = false;
#include "cambrian/gpu/shaders/attention/attention.glsl"

// Gradients of keys and values: a workgroup owns rows of one key head and walks over the queries of
// all heads that read it, in their order.

const uint sum_of_values = 0U;
const uint sum_of_keys = 1U;

float offsets[4];  // Of the four queries of this thread.

// e^(score - log-sum-exp) of own keys by four queries.
void weigh(Work here, uint first_key, uint first_query, uvec2 at) {
    uint rows = table().at[table_rows];
    Reals log_sum_exp = Reals(matrix(tensor_log_sum_exp, here, rows, rows, 1U).address);
    Reals offset = Reals(matrix(tensor_offset, here, rows, rows, 1U).address);
    float factor = scale();
    [[unroll]] for (uint column = 0U; column < 4U; ++column) {
        uint query = first_query + 4U * at.y + column;
        int seen = seen_keys(query, here.keys);
        float log_sum = query < rows ? log_sum_exp.at[query] : 0.0F;
        offsets[column] = query < rows ? offset.at[query] : 0.0F;
        [[unroll]] for (uint r = 0U; r < thread_rows; ++r) {
            bool sees = int(first_key + own_row(r / 4U, at) + r % 4U) < seen;
            weights[r][column] = sees ? own_exp(product[r][column] * factor - log_sum) : 0.0F;
        }
    }
}

void main() {
    Work here = work();
    uvec2 at = thread_position();
    uint rows = table().at[table_rows];
    uint keys = table().at[table_keys];
    uint width = table().at[table_width];
    uint value_width = table().at[table_value_width];
    uint counted = uint(here.keys);
    Matrix q = matrix(tensor_q, here, rows, rows, width);
    Matrix k = matrix(tensor_k, here, keys, counted, width);
    Matrix v = matrix(tensor_v, here, keys, counted, value_width);
    Matrix upstream = matrix(tensor_upstream, here, rows, rows, value_width);
    Matrix key_result = matrix(tensor_result, here, keys, keys, width);
    Matrix value_result = matrix(tensor_second_result, here, keys, keys, value_width);

    uint first_key = here.tile * tile_rows;
    begin_sums(sum_of_values, value_result, first_key, at);
    begin_sums(sum_of_keys, key_result, first_key, at);
    for (uint tile = push.word[4]; tile < push.word[5]; ++tile) {
        uint first_query = tile * tile_side;
        if (seen_keys_of(first_query, tile_side, here.keys) > int(first_key)) {
            load_values(upstream, first_query, push.word[6]);
            multiply(k, first_key, q, first_query, at);
            weigh(here, first_key, first_query, at);
            share_weights(at);
            add_weighted(sum_of_values, upstream, first_query, at);

            load_values(q, first_query, push.word[6]);
            multiply(v, first_key, upstream, first_query, at);
            vec4 offset = vec4(offsets[0], offsets[1], offsets[2], offsets[3]);
            [[unroll]] for (uint r = 0U; r < thread_rows; ++r) {
                weights[r] *= (product[r] - offset) * scale();
            }
            share_weights(at);
            add_weighted(sum_of_keys, q, first_query, at);
        }
    }
    store_sums(sum_of_values, value_result, first_key, at);
    store_sums(sum_of_keys, key_result, first_key, at);
}
