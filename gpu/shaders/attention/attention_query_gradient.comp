#version 460
#extension GL_GOOGLE_include_directive : require
#include "cambrian/gpu/shaders/prelude.glsl"
#include "cambrian/gpu/shaders/elementary.glsl"

const uint sum_count = 1U;
const bool last_tile_first = true;
#include "cambrian/gpu/shaders/attention/attention.glsl"

// Gradient of the queries: a workgroup owns rows of queries and walks over the keys that they see.

float log_sums[thread_rows];
float offsets[thread_rows];
int seen[thread_rows];

void begin_rows(Work here, uint first_row, uvec2 at) {
    uint rows = table().at[table_rows];
    Reals log_sum_exp = Reals(matrix(tensor_log_sum_exp, here, rows, rows, 1U).address);
    Reals offset = Reals(matrix(tensor_offset, here, rows, rows, 1U).address);
    [[unroll]] for (uint r = 0U; r < thread_rows; ++r) {
        uint row = first_row + own_row(r / 4U, at) + r % 4U;
        seen[r] = seen_keys(row, here.keys);
        log_sums[r] = row < rows ? log_sum_exp.at[row] : 0.0F;
        offsets[r] = row < rows ? offset.at[row] : 0.0F;
    }
}

void weigh(uint first_key, uvec2 at) {
    float factor = scale();
    [[unroll]] for (uint r = 0U; r < thread_rows; ++r) {
        [[unroll]] for (uint column = 0U; column < 4U; ++column) {
            bool sees = int(first_key + 4U * at.y + column) < seen[r];
            weights[r][column] =
                sees ? factor * own_exp(product[r][column] * factor - log_sums[r]) : 0.0F;
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
    Matrix result = matrix(tensor_result, here, rows, rows, width);

    uint first_row = here.tile * tile_rows;
    begin_rows(here, first_row, at);
    begin_sums(0U, result, first_row, at);
    uint end = uint(seen_keys_of(first_row, tile_rows, here.keys));
    for (uint tile = push.word[4]; tile < push.word[5] && tile * tile_side < end; ++tile) {
        uint first_key = tile * tile_side;
        load_values(k, first_key, push.word[6]);
        multiply(q, first_row, k, first_key, at);
        weigh(first_key, at);
        multiply(upstream, first_row, v, first_key, at);
        [[unroll]] for (uint r = 0U; r < thread_rows; ++r) weights[r] *= product[r] - offsets[r];
        share_weights(at);
        add_weighted(0U, k, first_key, at);
    }
    store_sums(0U, result, first_row, at);
}
