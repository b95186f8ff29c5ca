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

// Numbers in the order of medians: both zeros are one, NaN is above all.
uint neuron_order(float x) {
    const uint magnitude = floatBitsToUint(x) & magnitude_mask;
    const uint bits = magnitude == 0U ? 0U : floatBitsToUint(x);
    const uint ordered = bits >= sign_mask ? ~bits : bits | sign_mask;
    return magnitude > exponent_mask ? ~0U : ordered;
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
// The median of the inputs of a neuron in a stable order: of an even number the mean of the two in the middle. The lower
// one is the largest of what is tried that has few enough before it, be that every input or, where they are many, every
// bit of a number: turns of a loop for each input are few.
#define INTERPRET_MEDIAN(result)                                                                    \
    {                                                                                               \
        const int count = end - first;                                                              \
        const int middle = (count - 1) >> 1;                                                        \
        uint low = 0U;                                                                              \
        int rank = 0;                                                                               \
        for (int turn = 0; turn < min(count, 32); ++turn) {                                         \
            const uint tried =                                                                      \
                count > 32 ? low | (sign_mask >> turn) : neuron_order(INTERPRET_TERM(first + turn));\
            int before = 0;                                                                         \
            for (int i = first; i < end; i += 8) {                                                  \
                [[unroll]] for (int j = 0; j < 8; ++j) {                                            \
                    const uint here = neuron_order(INTERPRET_TERM(min(i + j, end - 1)));            \
                    before += i + j < end && here < tried ? 1 : 0;                                  \
                }                                                                                   \
            }                                                                                       \
            const bool higher = before <= middle && tried >= low;                                   \
            low = higher ? tried : low;                                                             \
            rank = higher ? before : rank;                                                          \
        }                                                                                           \
        precise float lower = 0.0;                                                                  \
        precise float upper = uintBitsToFloat(~0U);                                                 \
        uint next = ~0U;                                                                            \
        for (int i = first; i < end; ++i) {                                                         \
            const float term = INTERPRET_TERM(i);                                                   \
            const uint here = neuron_order(term);                                                   \
            const bool follows = (here == low && rank == middle + 1) || (here > low && here < next);\
            lower = here == low && rank == middle ? term : lower;                                   \
            upper = follows ? term : upper;                                                         \
            next = follows ? here : next;                                                           \
            rank += here == low ? 1 : 0;                                                            \
        }                                                                                           \
        result = lower;                                                                             \
        if ((count & 1) == 0) result = (lower + upper) * 0.5;                                       \
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
