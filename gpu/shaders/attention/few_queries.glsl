// What the kernels for few queries share (kernels/attention/few_queries.hpp): which keys are seen, and
// the state that a part of them leaves for every query of a key head, [head][part][query]: the values
// weighted by e^(score - largest), not yet divided, then the largest score and the sum of the weights.
// With flag_own_row the row after the keys that count is one of its own, which is seen, too.
// Push, beside what heads.glsl names: word 4 parts of a head, 5 keys of a part.

const bool last_tile_first = false;
#include "cambrian/gpu/shaders/attention/heads.glsl"

const uint tensor_own_key = tensor_upstream;
const uint tensor_own_value = tensor_offset;
const uint tensor_partial = tensor_second_result;

uint own_rows() {
    return (table().at[table_flags] & flag_own_row) != 0U ? 1U : 0U;
}

// Keys that any query sees lie from the first on and below the end.
uint end_of_seen(Work here) {
    return uint(here.keys) + own_rows();
}

uint first_seen(Work here) {
    uint window = table().at[table_window];
    uint end = end_of_seen(here);
    return window > 0U && end > window ? end - window : 0U;
}

// A row of a cache, or after those the own one.
vec4 load_row(Matrix cache, Matrix own, uint row, uint column) {
    if (own.rows == 0U || row < cache.rows) return load_quad(cache, row, column);
    return load_quad(own, row - cache.rows, column);
}

Reals partial_state(Work here, uint part, uint query) {
    uint words = table().at[table_value_width] + 2U;
    uint queries = table().at[table_rows];
    uint64_t states = uint64_t(here.head) * uint64_t(push.word[4]) + uint64_t(part);
    uint64_t first = uint64_t(here.individual) * uint64_t(table().at[table_strides + tensor_partial]) +
                     (states * uint64_t(queries) + uint64_t(query)) * uint64_t(words);
    return Reals(push.address[tensor_partial] + 4UL * first);
}

// What exponentials are taken below: any number where no key was seen.
float shift_of(float largest) {
    return largest == no_score() ? 0.0F : largest;
}

float factor_of(float total) {
    return total == 0.0F ? 1.0F : own_reciprocal(total);
}

void store_log_sum_exp(Work here, uint query, float largest, float total) {
    if (push.address[tensor_log_sum_exp] == 0UL) return;
    uint rows = table().at[table_rows];
    Reals(matrix(tensor_log_sum_exp, here, rows, rows, 1U).address).at[query] =
        total == 0.0F ? no_score() : largest + own_log(total);
}
