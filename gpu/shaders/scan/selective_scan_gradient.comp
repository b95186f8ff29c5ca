#version 460
#extension GL_GOOGLE_include_directive : require
#include "cambrian/gpu/shaders/prelude.glsl"
#include "cambrian/gpu/shaders/elementary.glsl"
#include "cambrian/gpu/shaders/ops.glsl"
#include "cambrian/gpu/shaders/scan/selective_scan.glsl"
#include "cambrian/gpu/shaders/scan/selective_scan_terms.glsl"

// Walks the tiles from the last to the first: the states of a tile are computed again from the one
// before it, then every step hands the gradient of its state to the step before it. Sums over states
// are complete; those over channels, sequences and steps go out in parts, which another kernel adds
// up. The memory between kernels holds
//   the states before every tile, parts of the gradients of b and of c as [channel group][sequence]
//   [step][state], of the decay as [sequence][channel][state], of the skip as [sequence][channel].
// A long walk is cut into dispatches that go on from the parts and the gradient of the state so far.

const uint tensor_end_gradient = 6U;
const uint tensor_between = 7U;
const uint tensor_upstream = 8U;
const uint tensor_u_gradient = 9U;
const uint tensor_raw_gradient = 10U;
const uint tensor_state_gradient = 11U;

shared float history[tile_steps * group_threads];
shared float upstream_tile[tile_inputs];

float carried;  // Gradient of the state after a step.
float decay_sum, skip_sum;
uint64_t upstream_start, skip_start, u_gradient_start, raw_gradient_start;

void load_upstream(uint step, uint count) {
    Reals upstream = Reals(upstream_start);
    for (uint i = gl_LocalInvocationIndex; i < tile_inputs; i += group_threads) {
        uint k = i / group_channels;
        uint channel = first_channel + i % group_channels;
        float word = 0.0F;
        if (k < count && channel < channels) word = upstream.at[(step + k) * channels + channel];
        upstream_tile[i] = word;
    }
}

// Back over step k of a tile, from the state after it to the one before.
float step_back(uint k, float after, float rate) {
    uint local = gl_LocalInvocationIndex;
    uint channel = k * group_channels + local / group_states;
    uint state = k * group_states + local % group_states;
    float before = history[k * group_threads + local];
    if (!owns_state) {
        put_terms(k, vec4(0.0F));
        return before;
    }
    float delta = delta_tile[channel];
    float b = b_tile[state];
    float upstream = upstream_tile[channel];
    float z = delta * rate;
    float decay = decay_of(z);
    float grown = 1.0F;
    if (holds) grown = growth(z, decay);
    float g = carried + c_tile[state] * upstream;
    float weighted = g * (delta * grown);
    float inputs = b * u_tile[channel];
    float faded = decay * before;
    float of_rate = faded * z;
    float input_slope = inputs;
    if (holds) {
        of_rate += inputs * delta * growth_slope(z, decay, grown);
        input_slope = decay * inputs;
    }
    decay_sum += g * of_rate;
    skip_sum += upstream * u_tile[channel];
    carried = decay * g;
    put_terms(k, vec4(weighted * b, g * (faded * rate + input_slope), weighted * u_tile[channel],
                      upstream * after));
    return before;
}

// Gradients of u and of raw delta, `count` steps from `step` on.
void store_inputs(uint step, uint count) {
    Reals upstream = Reals(upstream_start);
    Reals raw_delta = Reals(raw_delta_start);
    Reals skip = Reals(skip_start);
    Reals u_gradient = Reals(u_gradient_start);
    Reals raw_gradient = Reals(raw_gradient_start);
    for (uint i = gl_LocalInvocationIndex; i < 2U * run_steps * group_channels;
         i += group_threads) {
        uint row = i % (run_steps * group_channels);
        uint channel = first_channel + row % group_channels;
        if (row / group_channels >= count || channel >= channels) continue;
        uint at = (step + row / group_channels) * channels + channel;
        bool goes_on = push.word[12] > 0U;
        if (i == row) {
            float so_far = goes_on ? u_gradient.at[at] : skip.at[channel] * upstream.at[at];
            u_gradient.at[at] = so_far + sum_of_states(of_u, row);
        } else {
            float sum = own_sigmoid(raw_delta.at[at]) * sum_of_states(of_delta, row);
            raw_gradient.at[at] = goes_on ? raw_gradient.at[at] + sum : sum;
        }
    }
}

// Parts of the gradients of b and c.
void store_weights(uint64_t parts, uint step, uint count) {
    uint words_of_kind = push.word[13] * sequences * steps * states;
    uint first = ((channel_group * sequences + sequence) * steps + step) * states;
    for (uint i = gl_LocalInvocationIndex; i < 2U * run_steps * group_states; i += group_threads) {
        uint k = i / group_states % run_steps;
        uint state = push.word[12] + i % group_states;
        if (k >= count || state >= states) continue;
        uint kind = i / (run_steps * group_states);
        Reals(parts).at[kind * words_of_kind + first + k * states + state] =
            sum_of_channels(of_b + kind, k, i % group_states);
    }
}

void find_addresses() {
    upstream_start = address_of(tensor_upstream, steps * channels);
    skip_start = address_of(tensor_skip, 0U);
    u_gradient_start = address_of(tensor_u_gradient, steps * channels);
    raw_gradient_start = address_of(tensor_raw_gradient, steps * channels);
}

void main() {
    find_place();
    find_addresses();
    uint local = gl_LocalInvocationIndex;
    uint tiles = (steps + tile_steps - 1U) / tile_steps;
    uint of_tile = sequences * channels * states;
    uint64_t between = address_of(tensor_between, 0U);
    uint64_t weight_parts = between + 4UL * uint64_t(tiles) * uint64_t(of_tile);
    uint64_t decay_part = weight_parts + 8UL * uint64_t(push.word[13] * sequences) *
                                             uint64_t(steps * states);
    uint64_t skip_part = decay_part + 4UL * uint64_t(of_tile);
    Reals starts = Reals(between);
    Reals state_gradient = Reals(address_of(tensor_state_gradient, channels * states));
    Reals decay_parts = Reals(decay_part + 4UL * uint64_t(sequence * channels * states));
    Reals skip_parts = Reals(skip_part + 4UL * uint64_t(sequence * channels));

    bool is_first = push.word[11] == tiles;
    bool adds_skip = owns_state && own_state == 0U;
    float rate = own_rate();
    carried = 0.0F;
    decay_sum = 0.0F;
    skip_sum = 0.0F;
    if (owns_state) {
        Reals end_gradient = Reals(address_of(tensor_end_gradient, channels * states));
        carried = is_first ? end_gradient.at[state_place()] : state_gradient.at[state_place()];
        if (!is_first) decay_sum = decay_parts.at[state_place()];
        if (!is_first && adds_skip) skip_sum = skip_parts.at[own_channel];
    }
    for (uint tile = push.word[11]; tile-- > push.word[10];) {
        uint step = tile * tile_steps;
        uint count = min(tile_steps, steps - step);
        load_tile(step, count);
        load_upstream(step, count);
        float state = 0.0F;
        if (owns_state)
            state = starts.at[tile * of_tile + sequence * channels * states + state_place()];
        barrier();
        for (uint k = 0U; k < count; ++k) {
            history[k * group_threads + local] = state;
            state = advance_in_tile(state, k, rate);
        }
        for (uint k = (count + run_steps - 1U) / run_steps * run_steps; k > 0U; k -= run_steps) {
            uint first = k - run_steps;
            for (uint i = min(k, count); i-- > first;) state = step_back(i, state, rate);
            barrier();
            store_inputs(step + first, count - first);
            store_weights(weight_parts, step + first, count - first);
            barrier();
        }
    }
    if (owns_state) {
        state_gradient.at[state_place()] = carried;
        decay_parts.at[state_place()] = decay_sum;
    }
    if (adds_skip) skip_parts.at[own_channel] = skip_sum;
}
