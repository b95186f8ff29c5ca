// Records of single neurons (engine/network/bytecode/neuron_table.hpp) and what they compute, for network.glsl.

#if INTERPRET_NEURONS > 0 && !defined(CAMBRIAN_INTERPRET_NEURONS)
#define CAMBRIAN_INTERPRET_NEURONS
// NeuronTable::half_mark.
const int neuron_half = 0x20000000;
#endif

#if INTERPRET_NEURONS == 1 && !defined(CAMBRIAN_INTERPRET_SUMS)
#define CAMBRIAN_INTERPRET_SUMS
// Activations that sums may have, on two sums at once: one alone waits for every operation.
void activate_sums(inout float sums[2], int code) {
    if (code == 4) {
        [[unroll]] for (int i = 0; i < 2; ++i) sums[i] = CAMBRIAN_CALL(tanh)(sums[i]);
    } else if (code == 5 || code == 6 || code == 2) {
        [[unroll]] for (int i = 0; i < 2; ++i) {
            const float share = CAMBRIAN_CALL(sigmoid)(code == 6 ? op_mul(4.9, sums[i]) : sums[i]);
            sums[i] = code == 2 ? op_mul(sums[i], share) : share;
        }
    } else if (code == 3) {
        [[unroll]] for (int i = 0; i < 2; ++i)
            sums[i] = gelu_by(sums[i], CAMBRIAN_CALL(tanh)(gelu_inside(sums[i])));
    } else if (code == 1) {
        [[unroll]] for (int i = 0; i < 2; ++i) sums[i] = activation_relu(sums[i]);
    }
}
#endif

#if INTERPRET_NEURONS > 1 && !defined(CAMBRIAN_INTERPRET_ANY_NEURON)
#define CAMBRIAN_INTERPRET_ANY_NEURON
// NeuronTable::joins_mark.
const int neuron_joins = 0x40000000;

// Before in a stable order with NaN above all.
bool neuron_before(float a, float b) {
    const bool a_is_number = (floatBitsToUint(a) & magnitude_mask) <= exponent_mask;
    const bool b_is_number = (floatBitsToUint(b) & magnitude_mask) <= exponent_mask;
    return real_less(a, b) || (a_is_number && !b_is_number);
}

// Two at once, the second of which may not matter: one alone waits for every operation.
vec2 neuron_activation_of_two(vec2 x, int code, bool both) {
    precise vec2 y = x;
    if (code == 4) {
        y.x = CAMBRIAN_CALL(tanh)(x.x);
        y.y = CAMBRIAN_CALL(tanh)(x.y);
    } else if (code == 5 || code == 6) {
        const vec2 steep = vec2(op_mul(4.9, x.x), op_mul(4.9, x.y));
        const vec2 inside = code == 6 ? steep : x;
        y.x = CAMBRIAN_CALL(sigmoid)(inside.x);
        y.y = CAMBRIAN_CALL(sigmoid)(inside.y);
    } else {
        // Once in the kernel: all of them are long.
        [[dont_unroll]] for (int i = 0; i < (both ? 2 : 1); ++i) y[i] = op_activate_any(x[i], code);
    }
    return y;
}

// What a word of a record adds to a sum: for those that fill up -0, which changes none.
#define INTERPRET_SHARE(is_input, place, weight) \
    ((is_input) ? op_mul(INTERPRET_AT(place, 0), weight) : uintBitsToFloat(sign_mask))
// Fours of a record with this head and so many words in use.
#define INTERPRET_FOURS(head, words) (((head) & neuron_half) != 0 ? 1 : ((words) + 7) >> 3 << 1)
// sum = the inputs of a record of so many fours times their weights. `four` and `by` are the fours after its first ones;
// then they are those after its last.
#define INTERPRET_SUM_OF_RECORD(sum, first_places, first_factors, fours, at_record, at_own)         \
    {                                                                                              \
        const int last_input = (first_places).x & 0xFFFF;                                          \
        sum = sum + INTERPRET_SHARE(last_input >= 1, (first_places).y, (first_factors).y);         \
        sum = sum + INTERPRET_SHARE(last_input >= 2, (first_places).z, (first_factors).z);         \
        sum = sum + INTERPRET_SHARE(last_input >= 3, (first_places).w, (first_factors).w);         \
        for (int q = 1; q < (fours); ++q) {                                                        \
            const ivec4 here = four;                                                               \
            const vec4 weighted_by = by;                                                           \
            four = bytecode.at[(at_record) + q + 1];                                               \
            by = weights.at[min((at_own) + q + 1, last_four)];                                     \
            sum = sum + INTERPRET_SHARE(last_input >= 4 * q, here.x, weighted_by.x);               \
            sum = sum + INTERPRET_SHARE(last_input >= 4 * q + 1, here.y, weighted_by.y);           \
            sum = sum + INTERPRET_SHARE(last_input >= 4 * q + 2, here.z, weighted_by.z);           \
            sum = sum + INTERPRET_SHARE(last_input >= 4 * q + 3, here.w, weighted_by.w);           \
        }                                                                                          \
    }
// Word i of a record and of its weights, the head being word 0.
#define INTERPRET_PLACE(i) bytecode.at[record + ((i) >> 2)][(i) & 3]
#define INTERPRET_OWN(i) weights.at[own + ((i) >> 2)][(i) & 3]
// Input i of a neuron, times its weight.
#define INTERPRET_TERM(i) op_mul(INTERPRET_AT(INTERPRET_PLACE(i), 0), INTERPRET_WEIGHT(i))
// The input of a rank among those of a neuron.
#define INTERPRET_RANK(result, rank)                                            \
    for (int i = first; i < end; ++i) {                                         \
        const float term = INTERPRET_TERM(i);                                   \
        int before = 0;                                                         \
        for (int j = first; j < end; ++j) {                                     \
            const float other_term = INTERPRET_TERM(j);                         \
            if (neuron_before(other_term, term) ||                              \
                (j < i && !neuron_before(term, other_term)))                    \
                ++before;                                                       \
        }                                                                       \
        if (before == (rank)) {                                                 \
            result = term;                                                      \
            break;                                                              \
        }                                                                       \
    }

#endif

// Where a plastic neuron keeps by how much the weight of input i has changed: at the 1 for none.
#define INTERPRET_CHANGE(i) INTERPRET_PLACE((i) + end - first)
#if INTERPRET_NEURONS > 2
#define INTERPRET_WEIGHT(i)                                                   \
    (places.x < 0 && INTERPRET_CHANGE(i) != one                               \
         ? op_add(INTERPRET_OWN(i), INTERPRET_AT(INTERPRET_CHANGE(i), 0)) \
         : INTERPRET_OWN(i))
#else
#define INTERPRET_WEIGHT(i) INTERPRET_OWN(i)
#endif
