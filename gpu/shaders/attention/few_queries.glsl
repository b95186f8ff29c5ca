// What the kernels for few queries share (kernels/attention/few_queries.hpp): the state that a part of
// the keys leaves for every query of a key head, [head][part][query]: the values weighted by
// e^(score - largest), not yet divided, then the largest score and the sum of the weights.

const bool last_tile_first = false;
#include "cambrian/gpu/shaders/attention/heads.glsl"

const uint tensor_partial = tensor_second_result;

Reals partial_state(Work here, uint parts, uint part, uint query) {
    uint words = table().at[table_value_width] + 2U;
    uint queries = table().at[table_rows];
    uint64_t state = (uint64_t(here.head) * uint64_t(parts) + uint64_t(part)) * uint64_t(queries) +
                     uint64_t(query);
    uint64_t first = uint64_t(here.individual) * uint64_t(table().at[table_strides + tensor_partial]) +
                     state * uint64_t(words);
    return Reals(push.address[tensor_partial] + 4UL * first);
}

// What exponentials are taken below: any number where no key was seen.
float shift_of(float largest) {
    return largest == no_score() ? 0.0F : largest;
}

float log_sum_exp_of(float largest, float total) {
    return total == 0.0F ? no_score() : largest + own_log(total);
}

float factor_of(float total) {
    return total == 0.0F ? 1.0F : own_reciprocal(total);
}
