#version 460
#extension GL_GOOGLE_include_directive : require
#include "prelude.glsl"
#include "elementary.glsl"
#include "ops.glsl"
#include "selective_scan.glsl"

// The states before every tile of steps, [tile][sequence][channel][state], for the gradient to go on
// from. A long walk is cut into dispatches: each begins where the last one has stored a state.

const uint tensor_starts = 7U;

void main() {
    find_place();
    uint begin = push.word[10];
    uint end = push.word[11];
    uint of_tile = sequences * channels * states;
    Reals starts = Reals(address_of(tensor_starts, channels * states));
    float rate = own_rate();
    float state = 0.0F;
    if (owns_state) {
        Reals before = Reals(address_of(tensor_state, channels * states));
        state = begin == 0U ? before.at[state_place()] : starts.at[begin * of_tile + state_place()];
    }
    for (uint tile = begin; tile < end; ++tile) {
        if (owns_state) starts.at[tile * of_tile + state_place()] = state;
        load_tile(tile * tile_steps, tile_steps);
        barrier();
        for (uint k = 0U; k < tile_steps; ++k) state = advance_in_tile(state, k, rate);
        barrier();
    }
    if (owns_state) starts.at[end * of_tile + state_place()] = state;
}
