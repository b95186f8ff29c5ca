#version 460
#extension GL_GOOGLE_include_directive : require
#include "cambrian/gpu/shaders/prelude.glsl"
#include "cambrian/gpu/shaders/elementary.glsl"

// The partial states of a query (few_queries.glsl) become its result: a workgroup has one query of a key
// head, a thread every so many columns. They are added up in the order of the keys.
// Tiles of a head are its queries.

#include "cambrian/gpu/shaders/attention/few_queries.glsl"

const uint threads = 128U;

shared float shared_words[threads];

// Of all parts, or their sum, from what each thread has of every so many.
float over_threads(float own, bool sum) {
    barrier();
    shared_words[gl_LocalInvocationIndex] = own;
    for (uint stride = threads / 2U; stride > 0U; stride /= 2U) {
        barrier();
        if (gl_LocalInvocationIndex < stride) {
            float one = shared_words[gl_LocalInvocationIndex];
            float other = shared_words[gl_LocalInvocationIndex + stride];
            shared_words[gl_LocalInvocationIndex] = sum ? one + other : max(one, other);
        }
    }
    barrier();
    return shared_words[0];
}

void main() {
    Work here = work();
    uint query = here.tile;
    uint rows = table().at[table_rows];
    uint value_width = table().at[table_value_width];
    uint first_part = first_seen(here) / push.word[5];
    uint end_part = (end_of_seen(here) + push.word[5] - 1U) / push.word[5];
    float largest = no_score();
    for (uint part = first_part + gl_LocalInvocationIndex; part < end_part; part += threads) {
        largest = max(largest, partial_state(here, part, query).at[value_width]);
    }
    largest = over_threads(largest, false);
    float shift = shift_of(largest);
    float total = 0.0F;
    for (uint part = first_part + gl_LocalInvocationIndex; part < end_part; part += threads) {
        Reals state = partial_state(here, part, query);
        total = fma(own_exp(state.at[value_width] - shift), state.at[value_width + 1U], total);
    }
    total = over_threads(total, true);
    Reals result = Reals(matrix(tensor_result, here, rows, rows, value_width).address);
    for (uint first = 0U; first < value_width; first += threads) {
        uint column = first + gl_LocalInvocationIndex;
        float sum = 0.0F;
        for (uint begin = first_part; begin < end_part; begin += threads) {
            uint count = min(threads, end_part - begin);
            barrier();
            if (gl_LocalInvocationIndex < count) {
                Reals state = partial_state(here, begin + gl_LocalInvocationIndex, query);
                shared_words[gl_LocalInvocationIndex] = own_exp(state.at[value_width] - shift);
            }
            barrier();
            for (uint i = 0U; i < count && column < value_width; ++i) {
                sum = fma(shared_words[i], partial_state(here, begin + i, query).at[column], sum);
            }
        }
        if (column < value_width) result.at[query * value_width + column] = sum * factor_of(total);
    }
    if (gl_LocalInvocationIndex == 0U) store_log_sum_exp(here, query, largest, total);
}
