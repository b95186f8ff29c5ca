// Records of single neurons (engine/network/bytecode/neuron_table.hpp) and what they compute, for network.glsl.

#ifndef CAMBRIAN_INTERPRET_NEURONS
#define CAMBRIAN_INTERPRET_NEURONS
// NeuronTable::half_mark, and uneven_mark.
const int neuron_half = 0x20000000;
const int neuron_uneven = 0x10000000;

// A common activation or steep_sigmoid, of two neurons at once: one alone waits for every operation.
void activate_pair(inout float x[2], int code) {
    if (code == 4) {
        [[unroll]] for (int i = 0; i < 2; ++i) x[i] = CAMBRIAN_CALL(tanh)(x[i]);
    } else if (code == 5 || code == 6 || code == 2) {
        [[unroll]] for (int i = 0; i < 2; ++i) {
            const float share = CAMBRIAN_CALL(sigmoid)(code == 6 ? op_mul(4.9, x[i]) : x[i]);
            x[i] = code == 2 ? op_mul(x[i], share) : share;
        }
    } else if (code == 3) {
        [[unroll]] for (int i = 0; i < 2; ++i) x[i] = gelu_by(x[i], CAMBRIAN_CALL(tanh)(gelu_inside(x[i])));
    } else if (code == 1) {
        [[unroll]] for (int i = 0; i < 2; ++i) x[i] = activation_relu(x[i]);
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

// Any activation, of two neurons of which the second may not matter.
void activate_any_pair(inout float x[2], int code, bool both) {
    if (code <= 6) {
        activate_pair(x, code);
    } else {
        // Once in the kernel: all of them are long.
        [[dont_unroll]] for (int i = 0; i < (both ? 2 : 1); ++i) x[i] = op_activate_any(x[i], code);
    }
}

// Fours of a record with this head and so many words in use.
#define INTERPRET_FOURS(head, words) (((head) & neuron_half) != 0 ? 1 : ((words) + 7) >> 3 << 1)
// sum = the inputs of a record of so many fours times their weights. `four` and `by` are the fours after its first ones;
// then they are those after its last. What fills up is -0 times the 1, which changes no sum.
#define INTERPRET_SUM_OF_RECORD(sum, first_places, first_factors, fours, at_record, at_own)      \
    {                                                                                           \
        sum = sum + op_mul(INTERPRET_AT((first_places).y, 0), (first_factors).y);               \
        sum = sum + op_mul(INTERPRET_AT((first_places).z, 0), (first_factors).z);               \
        sum = sum + op_mul(INTERPRET_AT((first_places).w, 0), (first_factors).w);               \
        for (int q = 1; q < (fours); ++q) {                                                     \
            const ivec4 here = four;                                                            \
            const vec4 weighted_by = by;                                                        \
            four = INTERPRET_CODE((at_record) + q + 1);                                            \
            by = INTERPRET_PACKED(min((at_own) + q + 1, last_four));                                  \
            sum = sum + op_mul(INTERPRET_AT(here.x, 0), weighted_by.x);                         \
            sum = sum + op_mul(INTERPRET_AT(here.y, 0), weighted_by.y);                         \
            sum = sum + op_mul(INTERPRET_AT(here.z, 0), weighted_by.z);                         \
            sum = sum + op_mul(INTERPRET_AT(here.w, 0), weighted_by.w);                         \
        }                                                                                       \
    }
// Word i of a record and of its weights, the head being word 0.
#define INTERPRET_PLACE(i) INTERPRET_CODE(record + ((i) >> 2))[(i) & 3]
#define INTERPRET_OWN(i) INTERPRET_PACKED(own + ((i) >> 2))[(i) & 3]
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
