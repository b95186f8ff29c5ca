#version 460
#extension GL_GOOGLE_include_directive : require
#include "cambrian/gpu/shaders/prelude.glsl"
#include "cambrian/gpu/shaders/elementary.glsl"
#include "cambrian/gpu/shaders/ops.glsl"
#include "cambrian/gpu/shaders/scan/selective_scan.glsl"

// y and the state after the last step; with CAMBRIAN_STRICT in the bits of the lowering. Or, for the
// gradient to go on from, the states before every tile as [tile][sequence][channel][state]. A long walk
// is cut into dispatches that go on from what the last one kept.

const uint tensor_y = 7U;
const uint tensor_kept = 8U;  // The state after the last step, or those before the tiles.

// Terms of y as [step][channel][state]; an odd stride keeps readers on different banks.
shared float terms[tile_inputs * (group_states + 1U)];

// Adds the terms of every step and channel up, in order of state.
void store_outputs(Reals y, Reals skip, uint step, uint count) {
    Reals u = Reals(u_start);
    uint known = min(group_states, states - push.word[12]);
    bool is_last = push.word[12] + known == states;
    for (uint i = gl_LocalInvocationIndex; i < tile_inputs; i += group_threads) {
        uint k = i / group_channels;
        uint channel = first_channel + i % group_channels;
        if (k >= count || channel >= channels) continue;
        uint at = (step + k) * channels + channel;
        uint first = i * (group_states + 1U);
        float sum = terms[first];
        if (push.word[12] > 0U) sum = op_add(y.at[at], sum);
        for (uint state = 1U; state < known; ++state) sum = op_add(sum, terms[first + state]);
        if (is_last) sum = op_add(sum, op_mul(skip.at[channel], u.at[at]));
        y.at[at] = sum;
    }
}

void main() {
    find_place();
    uint local = gl_LocalInvocationIndex;
    uint begin = push.word[10];
    uint end = push.word[11];
    bool keeps_starts = (table().at[4] & flag_starts) != 0U;
    uint of_tile = keeps_starts ? sequences * channels * states : 0U;
    Reals kept = Reals(address_of(tensor_kept, channels * states));
    Reals y = Reals(address_of(tensor_y, steps * channels));
    Reals skip = Reals(address_of(tensor_skip, 0U));
    float rate = own_rate();
    float state = 0.0F;
    if (owns_state) {
        Reals before = Reals(address_of(tensor_state, channels * states));
        state = begin == 0U ? before.at[state_place()] : kept.at[begin * of_tile + state_place()];
    }
    for (uint tile = begin; tile < end; ++tile) {
        uint step = tile * tile_steps;
        uint count = min(tile_steps, steps - step);
        if (keeps_starts && owns_state) kept.at[tile * of_tile + state_place()] = state;
        load_tile(step, count);
        barrier();
        for (uint k = 0U; k < count; ++k) {
            state = advance_in_tile(state, k, rate);
            uint channel = k * group_channels + local / group_states;
            float out_weight = c_tile[k * group_states + local % group_states];
            terms[channel * (group_states + 1U) + local % group_states] =
                op_mul(state, out_weight);
        }
        barrier();
        if (!keeps_starts) store_outputs(y, skip, step, count);
    }
    if (owns_state) kept.at[end * of_tile + state_place()] = state;
}
