// The terms of gradients that the invocations of a workgroup hand to each other, and their sums. Those of
// u and delta are sums over states, those of b and c sums over channels.

// Steps whose terms are added up at once; every tile is whole runs of them.
const uint run_steps = 2U;
const uint term_row = group_states + 1U;
const uint kind_words = run_steps * group_channels * term_row;
const uint of_u = 0U;
const uint of_delta = 1U;
const uint of_b = 2U;
const uint of_c = 3U;

// By kind, then [step][channel][state]; an odd stride keeps readers on different banks.
shared float terms[4U * kind_words];

void put_terms(uint k, vec4 by_kind) {
    uint lane = gl_LocalInvocationIndex / group_states * term_row +
                gl_LocalInvocationIndex % group_states;
    uint at = k % run_steps * group_channels * term_row + lane;
    terms[at + of_u * kind_words] = by_kind[of_u];
    terms[at + of_delta * kind_words] = by_kind[of_delta];
    terms[at + of_b * kind_words] = by_kind[of_b];
    terms[at + of_c * kind_words] = by_kind[of_c];
}

float sum_of_states(uint kind, uint row) {
    uint first = kind * kind_words + row * term_row;
    float sum = terms[first];
    for (uint state = 1U; state < group_states; ++state) sum += terms[first + state];
    return sum;
}

float sum_of_channels(uint kind, uint k, uint state) {
    uint first = kind * kind_words + k * group_channels * term_row + state;
    float sum = terms[first];
    for (uint channel = 1U; channel < group_channels; ++channel)
        sum += terms[first + channel * term_row];
    return sum;
}
