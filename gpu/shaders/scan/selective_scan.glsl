// What the kernels of selective_scan share. A workgroup owns some channels of one sequence, with an
// invocation for each of `group_states` states of each of them, and walks over the steps in tiles: a
// tile of the operands is loaded by all together, then every state goes through its steps in order.
// Further states of a channel are another dispatch's, which adds to what the earlier ones stored.
// Push:
//   address  u, raw delta, log decay, b, c, skip, first state, first result (7)
//   word     0-7 addresses 8 to 11, 8-9 address of the table, 10 first and 11 last tile of steps (one
//            after), 12 first state, 13 workgroups of a sequence
// Table: steps, channels, states, sequences, flags, then words between individuals of the 12 addresses.

layout(constant_id = 1) const uint group_states = 16U;
layout(constant_id = 2) const uint tile_steps = 16U;

const uint flag_hold = 1U;    // Zero-order hold, else Euler.
const uint flag_starts = 2U;  // Of a walk forward: the states before every tile are wanted, no y.

const uint tensor_u = 0U;
const uint tensor_raw_delta = 1U;
const uint tensor_log_decay = 2U;
const uint tensor_b = 3U;
const uint tensor_c = 4U;
const uint tensor_skip = 5U;
const uint tensor_state = 6U;

const uint group_threads = gl_WorkGroupSize.x;
const uint group_channels = group_threads / group_states;
const uint tile_inputs = tile_steps * group_channels;
const uint tile_weights = tile_steps * group_states;

// Tiles as [step][channel] and [step][state]. What does not exist is 0.
shared float u_tile[tile_inputs];
shared float delta_tile[tile_inputs];
shared float b_tile[tile_weights];
shared float c_tile[tile_weights];

uint steps, channels, states, sequences;
bool holds;
uint individual, sequence, channel_group;
uint first_channel;
uint64_t u_start, raw_delta_start, b_start, c_start;
// Of this invocation.
uint own_channel, own_state;
bool owns_state;

Words table() {
    return Words(packUint2x32(uvec2(push.word[8], push.word[9])));
}

// Where a tensor has the part of this workgroup's sequence, if a sequence has so many words of it.
uint64_t address_of(uint tensor, uint words) {
    uint64_t start = push.address[tensor & 7U];
    if (tensor > 7U)
        start = packUint2x32(uvec2(push.word[2U * tensor - 16U], push.word[2U * tensor - 15U]));
    uint64_t first = uint64_t(individual) * uint64_t(table().at[5U + tensor]) +
                     uint64_t(sequence) * uint64_t(words);
    return start + 4UL * first;
}

void find_place() {
    steps = table().at[0];
    channels = table().at[1];
    states = table().at[2];
    sequences = table().at[3];
    holds = (table().at[4] & flag_hold) != 0U;
    uint number = group();
    channel_group = number % push.word[13];
    number /= push.word[13];
    sequence = number % sequences;
    individual = number / sequences;
    first_channel = channel_group * group_channels;
    own_channel = first_channel + gl_LocalInvocationIndex / group_states;
    own_state = push.word[12] + gl_LocalInvocationIndex % group_states;
    owns_state = own_channel < channels && own_state < states;
    u_start = address_of(tensor_u, steps * channels);
    raw_delta_start = address_of(tensor_raw_delta, steps * channels);
    b_start = address_of(tensor_b, steps * states);
    c_start = address_of(tensor_c, steps * states);
}

// Among the states of a sequence.
uint state_place() {
    return own_channel * states + own_state;
}

float own_rate() {
    if (!owns_state) return 0.0F;
    return op_neg(own_exp(Reals(address_of(tensor_log_decay, 0U)).at[state_place()]));
}

// log(1 + e^x).
float softplus(float x) {
    return op_add(op_max(0.0F, x), own_log1p(own_exp(op_min(x, op_neg(x)))));
}

// e^z of z <= 0. Fast math stops at e^-87.
float decay_of(float z) {
#ifdef CAMBRIAN_STRICT
    return own_exp(z);
#else
    float decay = own_exp_inside(z < -87.0F ? -87.0F : z);
    bool is_number = (floatBitsToUint(z) & magnitude_mask) <= exponent_mask;
    return is_number ? decay : z;
#endif
}

bool is_small(float z) {
    return (floatBitsToUint(z) & magnitude_mask) < 0x3E800000U;
}

// (e^z - 1) / z of z <= 0, as a series where it is small. In fast math the rest is a product of the
// decay e^z, which is there already.
float growth(float z, float decay) {
    precise float s_5 = 0.00833333377F + z * 0.00138888892F;
    precise float s_4 = 0.0416666679F + z * s_5;
    precise float s_3 = 0.166666672F + z * s_4;
    precise float s_2 = 0.5F + z * s_3;
    precise float s_1 = 1.0F + z * s_2;
#ifdef CAMBRIAN_STRICT
    float divisor = is_small(z) ? 1.0F : z;
    float quotient = own_divide(own_expm1(divisor), divisor);
#else
    // Up to 1e37: beyond it a reciprocal is no normal number.
    uint magnitude = min(floatBitsToUint(z) & magnitude_mask, 0x7CF0BDC2U);
    float quotient = (1.0F - decay) * own_reciprocal_inside(uintBitsToFloat(magnitude));
#endif
    return is_small(z) ? s_1 : quotient;
}

// z times the slope of growth: e^z - growth(z), as a series where the difference would cancel.
float growth_slope(float z, float decay, float grown) {
    float s_4 = 0.0333333351F + z * (0.0069444445F + z * 0.00119047623F);
    float series = z * (0.5F + z * (0.333333343F + z * (0.125F + z * s_4)));
    return is_small(z) ? series : decay - grown;
}

// The state after a step.
float advance(float before, float decay, float weight, float b, float u) {
    return op_add(op_mul(decay, before), op_mul(op_mul(weight, b), u));
}

// Step k of the tile from the state before it.
float advance_in_tile(float before, uint k, float rate) {
    uint channel = k * group_channels + gl_LocalInvocationIndex / group_states;
    float delta = delta_tile[channel];
    float z = op_mul(delta, rate);
    float decay = decay_of(z);
    float weight = delta;
    if (holds) weight = op_mul(delta, growth(z, decay));
    return advance(before, decay, weight,
                   b_tile[k * group_states + gl_LocalInvocationIndex % group_states],
                   u_tile[channel]);
}

// Loads `count` steps from `step` on. The caller puts a barrier after it.
void load_tile(uint step, uint count) {
    Reals u = Reals(u_start);
    Reals raw_delta = Reals(raw_delta_start);
    for (uint i = gl_LocalInvocationIndex; i < tile_inputs; i += group_threads) {
        uint k = i / group_channels;
        uint channel = first_channel + i % group_channels;
        float input_word = 0.0F;
        float delta = 0.0F;
        if (k < count && channel < channels) {
            input_word = u.at[(step + k) * channels + channel];
            delta = softplus(raw_delta.at[(step + k) * channels + channel]);
        }
        u_tile[i] = input_word;
        delta_tile[i] = delta;
    }
    Reals b = Reals(b_start);
    Reals c = Reals(c_start);
    for (uint i = gl_LocalInvocationIndex; i < tile_weights; i += group_threads) {
        uint k = i / group_states;
        uint state = push.word[12] + i % group_states;
        bool exists = k < count && state < states;
        float in_weight = 0.0F;
        float out_weight = 0.0F;
        if (exists) {
            in_weight = b.at[(step + k) * states + state];
            out_weight = c.at[(step + k) * states + state];
        }
        b_tile[i] = in_weight;
        c_tile[i] = out_weight;
    }
}
