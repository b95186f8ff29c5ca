#version 460
#extension GL_GOOGLE_include_directive : require
#include "cambrian/gpu/shaders/prelude.glsl"
#include "cambrian/gpu/shaders/elementary.glsl"

// The partial states of a query (few_queries.glsl) become its result: a workgroup has one query of a key
// head, a thread every so many columns. They are added up in the order of the keys.
// Push, beside what heads.glsl names: word 4 parts of a head, 5 keys of a part, 7 queries of a head.

#include "cambrian/gpu/shaders/attention/few_queries.glsl"

void main() {
    Work here = work();
    uint query = here.tile;
    uint rows = table().at[table_rows];
    uint value_width = table().at[table_value_width];
    uint parts = push.word[4];
    uint counted = (uint(here.keys) + push.word[5] - 1U) / push.word[5];
    float largest = no_score();
    for (uint part = 0U; part < counted; ++part) {
        largest = max(largest, partial_state(here, parts, part, query).at[value_width]);
    }
    float shift = shift_of(largest);
    float total = 0.0F;
    for (uint part = 0U; part < counted; ++part) {
        Reals state = partial_state(here, parts, part, query);
        total = fma(own_exp(state.at[value_width] - shift), state.at[value_width + 1U], total);
    }
    Reals result = Reals(matrix(tensor_result, here, rows, rows, value_width).address);
    for (uint column = gl_LocalInvocationIndex; column < value_width; column += gl_WorkGroupSize.x) {
        float sum = 0.0F;
        for (uint part = 0U; part < counted; ++part) {
            Reals state = partial_state(here, parts, part, query);
            sum = fma(own_exp(state.at[value_width] - shift), state.at[column], sum);
        }
        result.at[query * value_width + column] = sum * factor_of(total);
    }
    if (gl_LocalInvocationIndex == 0U) {
        Reals(matrix(tensor_log_sum_exp, here, rows, rows, 1U).address).at[query] =
            log_sum_exp_of(largest, total);
    }
}
