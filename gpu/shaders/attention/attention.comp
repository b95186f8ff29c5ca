#version 460
#extension GL_GOOGLE_include_directive : require
#include "cambrian/gpu/shaders/prelude.glsl"
#include "cambrian/gpu/shaders/elementary.glsl"

const uint sum_count = 1U;
const bool last_tile_first = true;
#include "cambrian/gpu/shaders/attention/attention.glsl"

// Attention with an online softmax: after every tile of keys a row holds its largest score so far,
// the sum of exponentials below it and the values weighted by them. The output and its log-sum-exp
// are such a state too, with sum 1: a long walk is cut into dispatches that go on from them.

float largest[thread_rows];
float totals[thread_rows];  // Of the columns of this thread.
int seen[thread_rows];

// One number a row of every thread, for the threads of the same row.
void share_rows(float own[thread_rows], uvec2 at) {
    [[unroll]] for (uint i = 0U; i < row_quads; ++i) {
        tiles[left_tile + turned(4U * at.y, i * threads_down + at.x, tile_row_quads)] =
            vec4(own[4U * i], own[4U * i + 1U], own[4U * i + 2U], own[4U * i + 3U]);
    }
    barrier();
}

vec4 shared_rows(uint thread, uint quad, uvec2 at) {
    return tiles[left_tile + turned(4U * thread, quad * threads_down + at.x, tile_row_quads)];
}

void begin_rows(Matrix log_sum_exp, uint first_row, int keys, uvec2 at) {
    [[unroll]] for (uint r = 0U; r < thread_rows; ++r) {
        uint row = first_row + own_row(r / 4U, at) + r % 4U;
        seen[r] = seen_keys(row, keys);
        bool goes_on = push.word[4] > 0U && row < log_sum_exp.rows;
        largest[r] = goes_on ? Reals(log_sum_exp.address).at[row] : no_score();
        totals[r] = at.y == 0U && largest[r] != no_score() ? 1.0F : 0.0F;
    }
}

// The scores of a tile become weights below the largest score of their row.
void weigh(uint first_key, uvec2 at) {
    float tile_largest[thread_rows];
    float factor = scale();
    [[unroll]] for (uint r = 0U; r < thread_rows; ++r) {
        tile_largest[r] = no_score();
        [[unroll]] for (uint column = 0U; column < 4U; ++column) {
            bool sees = int(first_key + 4U * at.y + column) < seen[r];
            product[r][column] = sees ? product[r][column] * factor : no_score();
            tile_largest[r] = max(tile_largest[r], product[r][column]);
        }
    }
    share_rows(tile_largest, at);
    [[unroll]] for (uint i = 0U; i < row_quads; ++i) {
        vec4 top = vec4(largest[4U * i], largest[4U * i + 1U], largest[4U * i + 2U],
                         largest[4U * i + 3U]);
        for (uint thread = 0U; thread < threads_across; ++thread) {
            top = max(top, shared_rows(thread, i, at));
        }
        [[unroll]] for (uint j = 0U; j < 4U; ++j) {
            uint r = 4U * i + j;
            float shift = top[j] == no_score() ? 0.0F : top[j];
            float shrink = own_exp(largest[r] - shift);
            largest[r] = top[j];
            totals[r] *= shrink;
            [[unroll]] for (uint block = 0U; block < column_blocks; ++block) {
                sums[block * thread_rows + r] *= shrink;
            }
            [[unroll]] for (uint column = 0U; column < 4U; ++column) {
                weights[r][column] = own_exp(product[r][column] - shift);
            }
            totals[r] += (weights[r].x + weights[r].y) + (weights[r].z + weights[r].w);
        }
    }
}

void finish(Matrix result, Matrix log_sum_exp, uint first_row, uvec2 at) {
    share_rows(totals, at);
    [[unroll]] for (uint i = 0U; i < row_quads; ++i) {
        vec4 total = vec4(0.0F);
        for (uint thread = 0U; thread < threads_across; ++thread) {
            total += shared_rows(thread, i, at);
        }
        [[unroll]] for (uint j = 0U; j < 4U; ++j) {
            uint r = 4U * i + j;
            uint row = first_row + own_row(i, at) + j;
            bool none = total[j] == 0.0F;
            float factor = none ? 1.0F : own_reciprocal(total[j]);
            [[unroll]] for (uint block = 0U; block < column_blocks; ++block) {
                sums[block * thread_rows + r] *= factor;
            }
            if (at.y == 0U && row < log_sum_exp.rows) {
                Reals(log_sum_exp.address).at[row] =
                    none ? no_score() : largest[r] + own_log(total[j]);
            }
        }
    }
    store_sums(0U, result, first_row, at);
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
    Matrix result = matrix(tensor_result, here, rows, rows, value_width);
    Matrix log_sum_exp = matrix(tensor_log_sum_exp, here, rows, rows, 1U);

    uint first_row = here.tile * tile_rows;
    begin_rows(log_sum_exp, first_row, here.keys, at);
    begin_sums(0U, result, first_row, at);
    uint end = uint(seen_keys_of(first_row, tile_rows, here.keys));
    for (uint tile = push.word[4]; tile < push.word[5] && tile * tile_side < end; ++tile) {
        uint first_key = tile * tile_side;
        load_values(v, first_key, push.word[6]);
        multiply(q, first_row, k, first_key, at);
        weigh(first_key, at);
        share_weights(at);
        add_weighted(0U, v, first_key, at);
    }
    finish(result, log_sum_exp, first_row, at);
}
