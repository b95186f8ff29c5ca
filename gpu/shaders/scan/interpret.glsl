// A network that is data (engine/network/bytecode/bytecode.hpp): one call computes one row with the bytecode and
// the packed weights of its individual, to the bits of the CPU backend in both math modes.
//
//     void INTERPRET_NAME(Bytecode bytecode, PackedWeights weights, in float row[INTERPRET_INPUTS],
//                         out float result[INTERPRET_OUTPUTS])
//
// The state is a variable of its own, which the call changes: arguments that are arrays are copied.
// Both addresses are multiples of 16: the first words of the individual in operands 0 and 1 of the
// op, whose strides are multiples of 4 words. The includer defines, before every inclusion:
//   INTERPRET_NAME     name of the function
//   INTERPRET_INPUTS   last extent of operand 2
//   INTERPRET_OUTPUTS  InterpretAttribute::outputs
//   INTERPRET_STATE    name of the state
//   INTERPRET_STATE_SIZE  its words and three more, which fill up the last four of a vector
//   INTERPRET_MEMORY   InterpretAttribute::memory, a multiple of 4
//   INTERPRET_LANES    invocations of a workgroup, where their working memories fit into its shared
//                      memory: indices that a bytecode decides keep an array of their own out of registers
//   INTERPRET_STORE    then the name of that memory
//   INTERPRET_NEURONS  InterpretAttribute::neurons, the code of a NeuronSet
//   INTERPRET_ANY_ACTIVATION  where dense layers may have others than the common activations
// and may include this text again with others: it undefines them. It needs prelude.glsl,
// elementary.glsl (CAMBRIAN_CALL) and ops.glsl. Neighbouring rows run together best when they share
// a bytecode.

#ifndef CAMBRIAN_INTERPRET
#define CAMBRIAN_INTERPRET

layout(buffer_reference, scalar, buffer_reference_align = 16) readonly buffer Bytecode { ivec4 at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 16) readonly buffer PackedWeights {
    vec4 at[];
};

// The codes of BytecodeOp.
const int bytecode_end = 0;
const int bytecode_dense = 1;
const int bytecode_rnn = 2;
const int bytecode_rms_norm = 3;
const int bytecode_layer_norm = 4;
const int bytecode_softmax = 5;
const int bytecode_add = 6;
const int bytecode_scale_add = 7;
const int bytecode_project_add = 8;
const int bytecode_load_state = 9;
const int bytecode_store_state = 10;
const int bytecode_neurons = 11;

// An activation by its gene code, on four outputs. What two of them have in common is there once: a device compiles it
// for long, and keeps less of its code at hand.
vec4 interpret_activate(vec4 x, int code) {
    precise vec4 y = x;
    if (code == 1) {
        [[unroll]] for (int i = 0; i < 4; ++i) y[i] = activation_relu(x[i]);
    } else if (code == 2 || code == 5) {
        [[unroll]] for (int i = 0; i < 4; ++i) y[i] = CAMBRIAN_CALL(sigmoid)(x[i]);
        if (code == 2) y = x * y;
    } else if (code == 3 || code == 4) {
        if (code == 3) {
            [[unroll]] for (int i = 0; i < 4; ++i) y[i] = gelu_inside(x[i]);
        }
        [[unroll]] for (int i = 0; i < 4; ++i) y[i] = CAMBRIAN_CALL(tanh)(y[i]);
        if (code == 3) {
            [[unroll]] for (int i = 0; i < 4; ++i) y[i] = gelu_by(x[i], y[i]);
        }
    }
    return y;
}

// Eight outputs at once: one invocation has nothing else to do while an operation is under way.
void interpret_activate_two(inout vec4 a, inout vec4 b, int code) {
    if (code == 4) {
        [[unroll]] for (int i = 0; i < 4; ++i) {
            a[i] = CAMBRIAN_CALL(tanh)(a[i]);
            b[i] = CAMBRIAN_CALL(tanh)(b[i]);
        }
    } else {
        a = interpret_activate(a, code);
        b = interpret_activate(b, code);
    }
}

// Four words of the memory, or of the state: of the vector that begins at a word, those from 4k on.
// What lies after the end of a vector does not matter.
#define INTERPRET_FROM_MEMORY(first, k) INTERPRET_FOUR(((first) >> 2) + (k))
#define INTERPRET_FROM_STATE(first, k)                                          \
    vec4(INTERPRET_STATE[(first) + 4 * (k)], INTERPRET_STATE[(first) + 4 * (k) + 1], \
         INTERPRET_STATE[(first) + 4 * (k) + 2], INTERPRET_STATE[(first) + 4 * (k) + 3])
// sum += weights x over a vector of that width, in ascending order; the four weights of each word
// lie side by side from weights.at[first].
#define INTERPRET_PRODUCT(sum, FROM, source, width, first)                   \
    {                                                                        \
        int product_at = first;                                              \
        for (int k = 0; k < (width) >> 2; ++k) {                             \
            const vec4 x = FROM(source, k);                                  \
            const vec4 weight_0 = weights.at[product_at];                    \
            const vec4 weight_1 = weights.at[product_at + 1];                \
            const vec4 weight_2 = weights.at[product_at + 2];                \
            const vec4 weight_3 = weights.at[product_at + 3];                \
            sum = sum + weight_0 * x.x;                                      \
            sum = sum + weight_1 * x.y;                                      \
            sum = sum + weight_2 * x.z;                                      \
            sum = sum + weight_3 * x.w;                                      \
            product_at += 4;                                                 \
        }                                                                    \
        const int rest = (width) & 3;                                        \
        if (rest > 0) {                                                      \
            const vec4 x = FROM(source, (width) >> 2);                       \
            sum = sum + weights.at[product_at] * x.x;                        \
            if (rest > 1) sum = sum + weights.at[product_at + 1] * x.y;      \
            if (rest > 2) sum = sum + weights.at[product_at + 2] * x.z;      \
        }                                                                    \
    }
// The same for two blocks of four outputs: one alone leaves an invocation waiting.
#define INTERPRET_PRODUCT_TWO(sum_a, sum_b, FROM, source, width, first_a, first_b) \
    {                                                                              \
        int a_at = first_a;                                                        \
        int b_at = first_b;                                                        \
        for (int k = 0; k < (width) >> 2; ++k) {                                   \
            const vec4 x = FROM(source, k);                                        \
            const vec4 a_0 = weights.at[a_at];                                     \
            const vec4 b_0 = weights.at[b_at];                                     \
            const vec4 a_1 = weights.at[a_at + 1];                                 \
            const vec4 b_1 = weights.at[b_at + 1];                                 \
            const vec4 a_2 = weights.at[a_at + 2];                                 \
            const vec4 b_2 = weights.at[b_at + 2];                                 \
            const vec4 a_3 = weights.at[a_at + 3];                                 \
            const vec4 b_3 = weights.at[b_at + 3];                                 \
            sum_a = sum_a + a_0 * x.x;                                             \
            sum_b = sum_b + b_0 * x.x;                                             \
            sum_a = sum_a + a_1 * x.y;                                             \
            sum_b = sum_b + b_1 * x.y;                                             \
            sum_a = sum_a + a_2 * x.z;                                             \
            sum_b = sum_b + b_2 * x.z;                                             \
            sum_a = sum_a + a_3 * x.w;                                             \
            sum_b = sum_b + b_3 * x.w;                                             \
            a_at += 4;                                                             \
            b_at += 4;                                                             \
        }                                                                          \
        const int rest = (width) & 3;                                              \
        if (rest > 0) {                                                            \
            const vec4 x = FROM(source, (width) >> 2);                             \
            sum_a = sum_a + weights.at[a_at] * x.x;                                \
            sum_b = sum_b + weights.at[b_at] * x.x;                                \
            if (rest > 1) {                                                        \
                sum_a = sum_a + weights.at[a_at + 1] * x.y;                        \
                sum_b = sum_b + weights.at[b_at + 1] * x.y;                        \
            }                                                                      \
            if (rest > 2) {                                                        \
                sum_a = sum_a + weights.at[a_at + 2] * x.z;                        \
                sum_b = sum_b + weights.at[b_at + 2] * x.z;                        \
            }                                                                      \
        }                                                                          \
    }
// total = TERM(word 0) + TERM(word 1) + .. over a vector of that width, read four words at a time.
#define INTERPRET_SUM(total, TERM, source, width)                  \
    {                                                              \
        const vec4 first_four = INTERPRET_FROM_MEMORY(source, 0);  \
        total = TERM(first_four.x);                                \
        if ((width) > 1) total = total + TERM(first_four.y);       \
        if ((width) > 2) total = total + TERM(first_four.z);       \
        if ((width) > 3) total = total + TERM(first_four.w);       \
        for (int at = 4; at < (width); at += 4) {                  \
            const vec4 x = INTERPRET_FROM_MEMORY(source, at >> 2); \
            total = total + TERM(x.x);                             \
            if (at + 1 < (width)) total = total + TERM(x.y);       \
            if (at + 2 < (width)) total = total + TERM(x.z);       \
            if (at + 3 < (width)) total = total + TERM(x.w);       \
        }                                                          \
    }
#define INTERPRET_VALUE(x) (x)
#define INTERPRET_SQUARE(x) (x) * (x)
#define INTERPRET_SQUARE_OF_CENTRED(x) ((x)-mean) * ((x)-mean)
// The first words of the state from `first` on become those of the vector at `source`.
#define INTERPRET_SAVE(first, source, width)                             \
    for (int at = 0; at < (width); at += 4) {                            \
        const vec4 x = INTERPRET_FROM_MEMORY(source, at >> 2);           \
        INTERPRET_STATE[(first) + at] = x.x;                             \
        if (at + 1 < (width)) INTERPRET_STATE[(first) + at + 1] = x.y;   \
        if (at + 2 < (width)) INTERPRET_STATE[(first) + at + 2] = x.z;   \
        if (at + 3 < (width)) INTERPRET_STATE[(first) + at + 3] = x.w;   \
    }
#endif

#if defined(INTERPRET_ANY_ACTIVATION) && !defined(CAMBRIAN_INTERPRET_ANY_ACTIVATION)
#define CAMBRIAN_INTERPRET_ANY_ACTIVATION
// Of any code: one function after another where it is not a common one, for there are many.
vec4 interpret_activate_any(vec4 x, int code) {
    if (code <= 5) return interpret_activate(x, code);
    precise vec4 y = x;
    [[dont_unroll]] for (int i = 0; i < 4; ++i) y[i] = op_activate_any(x[i], code);
    return y;
}
void interpret_activate_any_two(inout vec4 a, inout vec4 b, int code) {
    if (code <= 5) {
        interpret_activate_two(a, b, code);
    } else {
        a = interpret_activate_any(a, code);
        b = interpret_activate_any(b, code);
    }
}
#endif
#ifdef INTERPRET_ANY_ACTIVATION
#define INTERPRET_ACTIVATE interpret_activate_any
#define INTERPRET_ACTIVATE_TWO interpret_activate_any_two
#else
#define INTERPRET_ACTIVATE interpret_activate
#define INTERPRET_ACTIVATE_TWO interpret_activate_two
#endif

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

// Vectors begin at multiples of four words; their last four may be filled up with anything. Layers take
// fours, neurons single words: in shared memory what neighbours read at once lies side by side.
#if defined(INTERPRET_LANES) && INTERPRET_NEURONS > 0
shared float INTERPRET_STORE[INTERPRET_MEMORY * INTERPRET_LANES];
#define INTERPRET_WORD(i) INTERPRET_STORE[(i) * INTERPRET_LANES + int(gl_LocalInvocationID.x)]
#define INTERPRET_FOUR(i)                                                                  \
    vec4(INTERPRET_WORD(4 * (i)), INTERPRET_WORD(4 * (i) + 1), INTERPRET_WORD(4 * (i) + 2), \
         INTERPRET_WORD(4 * (i) + 3))
#define INTERPRET_PUT(i, four)                  \
    {                                           \
        const vec4 put = four;                  \
        INTERPRET_WORD(4 * (i)) = put.x;        \
        INTERPRET_WORD(4 * (i) + 1) = put.y;    \
        INTERPRET_WORD(4 * (i) + 2) = put.z;    \
        INTERPRET_WORD(4 * (i) + 3) = put.w;    \
    }
#else
#ifdef INTERPRET_LANES
shared vec4 INTERPRET_STORE[INTERPRET_MEMORY / 4 * INTERPRET_LANES];
#define INTERPRET_FOUR(i) INTERPRET_STORE[(i) * INTERPRET_LANES + int(gl_LocalInvocationID.x)]
#else
#define INTERPRET_FOUR(i) memory[i]
#endif
#define INTERPRET_WORD(i) INTERPRET_FOUR((i) >> 2)[(i) & 3]
#define INTERPRET_PUT(i, four) INTERPRET_FOUR(i) = four
#endif
// Element i of the vector that begins at word `first` of the memory.
#define INTERPRET_AT(first, i) INTERPRET_WORD((first) + (i))
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

float INTERPRET_STATE[INTERPRET_STATE_SIZE];

void INTERPRET_NAME(Bytecode bytecode, PackedWeights weights, in float row[INTERPRET_INPUTS],
                    out float result[INTERPRET_OUTPUTS]) {
#ifndef INTERPRET_LANES
    vec4 memory[INTERPRET_MEMORY / 4];
#endif
    [[unroll]] for (int i = 0; i < INTERPRET_INPUTS; ++i) INTERPRET_WORD(i) = row[i];

    int position = 0;
    ivec4 head = bytecode.at[0];
    ivec4 tail = bytecode.at[1];
    while (head.x != bytecode_end) {
        // Asked for now, there by the time this instruction is done.
        position += 2;
        ivec4 next_head = bytecode.at[position];
        ivec4 next_tail = bytecode.at[position + 1];
        const int to = head.y;
        const int from = head.z;
        const int other = head.w;
        const int inputs = tail.x;
        const int outputs = tail.y;
        const int blocks = (outputs + 3) >> 2;
        const int packed = tail.z >> 2;
        const float detail = intBitsToFloat(tail.w);
        switch (head.x) {
            case bytecode_dense: {
                int block = 0;
                for (; block + 1 < blocks; block += 2) {
                    const int first = packed + block * (inputs + 1);
                    const int second = first + inputs + 1;
                    // Asked for before they are needed.
                    const vec4 bias_a = weights.at[first + inputs];
                    const vec4 bias_b = weights.at[second + inputs];
                    precise vec4 a = vec4(0.0);
                    precise vec4 b = vec4(0.0);
                    INTERPRET_PRODUCT_TWO(a, b, INTERPRET_FROM_MEMORY, from, inputs, first, second);
                    a = a + bias_a;
                    b = b + bias_b;
                    INTERPRET_ACTIVATE_TWO(a, b, tail.w);
                    INTERPRET_PUT((to >> 2) + block, a);
                    INTERPRET_PUT((to >> 2) + block + 1, b);
                }
                if (block < blocks) {
                    const int first = packed + block * (inputs + 1);
                    precise vec4 sum = vec4(0.0);
                    INTERPRET_PRODUCT(sum, INTERPRET_FROM_MEMORY, from, inputs, first);
                    sum = sum + weights.at[first + inputs];
                    INTERPRET_PUT((to >> 2) + block, INTERPRET_ACTIVATE(sum, tail.w));
                }
                break;
            }
            case bytecode_rnn: {
                int block = 0;
                for (; block + 1 < blocks; block += 2) {
                    const int first = packed + block * (inputs + outputs + 1);
                    const int second = first + inputs + outputs + 1;
                    precise vec4 a = vec4(0.0);
                    precise vec4 b = vec4(0.0);
                    INTERPRET_PRODUCT_TWO(a, b, INTERPRET_FROM_MEMORY, from, inputs, first, second);
                    precise vec4 memory_a = vec4(0.0);
                    precise vec4 memory_b = vec4(0.0);
                    INTERPRET_PRODUCT_TWO(memory_a, memory_b, INTERPRET_FROM_STATE, other, outputs,
                                          first + inputs, second + inputs);
                    a = a + memory_a;
                    b = b + memory_b;
                    a = a + weights.at[first + inputs + outputs];
                    b = b + weights.at[second + inputs + outputs];
                    interpret_activate_two(a, b, 4);
                    INTERPRET_PUT((to >> 2) + block, a);
                    INTERPRET_PUT((to >> 2) + block + 1, b);
                }
                if (block < blocks) {
                    const int first = packed + block * (inputs + outputs + 1);
                    precise vec4 sum = vec4(0.0);
                    INTERPRET_PRODUCT(sum, INTERPRET_FROM_MEMORY, from, inputs, first);
                    precise vec4 memory_sum = vec4(0.0);
                    INTERPRET_PRODUCT(memory_sum, INTERPRET_FROM_STATE, other, outputs,
                                      first + inputs);
                    sum = sum + memory_sum;
                    sum = sum + weights.at[first + inputs + outputs];
                    INTERPRET_PUT((to >> 2) + block, interpret_activate(sum, 4));
                }
                INTERPRET_SAVE(other, to, outputs);
                break;
            }
            case bytecode_rms_norm: {
                precise float total;
                INTERPRET_SUM(total, INTERPRET_SQUARE, from, inputs);
                precise float mean = total * intBitsToFloat(other);
                precise float shifted = mean + detail;
                const float scale = CAMBRIAN_CALL(rsqrt)(shifted);
                for (int block = 0; block < blocks; ++block) {
                    precise vec4 y = INTERPRET_FOUR((from >> 2) + block) * scale;
                    y = y * weights.at[packed + block];
                    INTERPRET_PUT((to >> 2) + block, y);
                }
                break;
            }
            case bytecode_layer_norm: {
                precise float total;
                INTERPRET_SUM(total, INTERPRET_VALUE, from, inputs);
                precise float mean = total * intBitsToFloat(other);
                precise float squares;
                INTERPRET_SUM(squares, INTERPRET_SQUARE_OF_CENTRED, from, inputs);
                precise float variance = squares * intBitsToFloat(other);
                precise float shifted = variance + detail;
                const float scale = CAMBRIAN_CALL(rsqrt)(shifted);
                for (int block = 0; block < blocks; ++block) {
                    precise vec4 y = INTERPRET_FOUR((from >> 2) + block) - mean;
                    y = y * scale;
                    y = y * weights.at[packed + block];
                    y = y + weights.at[packed + blocks + block];
                    INTERPRET_PUT((to >> 2) + block, y);
                }
                break;
            }
            case bytecode_softmax: {
                float largest = INTERPRET_AT(from, 0);
                for (int i = 1; i < inputs; ++i) {
                    largest = op_max(INTERPRET_AT(from, i), largest);
                }
                precise float total = 0.0;
                for (int i = 0; i < inputs; ++i) {
                    precise float shifted = INTERPRET_AT(from, i) - largest;
                    const float weight = CAMBRIAN_CALL(exp)(shifted);
                    INTERPRET_AT(to, i) = weight;
                    total = total + weight;
                }
                const float scale = CAMBRIAN_CALL(reciprocal)(total);
                for (int block = 0; block < blocks; ++block) {
                    precise vec4 y = INTERPRET_FOUR((to >> 2) + block) * scale;
                    INTERPRET_PUT((to >> 2) + block, y);
                }
                break;
            }
            case bytecode_add:
                for (int block = 0; block < blocks; ++block) {
                    precise vec4 y = INTERPRET_FOUR((from >> 2) + block) + INTERPRET_FOUR((other >> 2) + block);
                    INTERPRET_PUT((to >> 2) + block, y);
                }
                break;
            case bytecode_scale_add:
                for (int block = 0; block < blocks; ++block) {
                    precise vec4 scaled = INTERPRET_FOUR((from >> 2) + block) * weights.at[packed + block];
                    precise vec4 y = INTERPRET_FOUR((other >> 2) + block) + scaled;
                    INTERPRET_PUT((to >> 2) + block, y);
                }
                break;
            case bytecode_project_add: {
                int block = 0;
                for (; block + 1 < blocks; block += 2) {
                    const int first = packed + block * inputs;
                    precise vec4 a = vec4(0.0);
                    precise vec4 b = vec4(0.0);
                    INTERPRET_PRODUCT_TWO(a, b, INTERPRET_FROM_MEMORY, from, inputs, first,
                                          first + inputs);
                    a = INTERPRET_FOUR((other >> 2) + block) + a;
                    b = INTERPRET_FOUR((other >> 2) + block + 1) + b;
                    INTERPRET_PUT((to >> 2) + block, a);
                    INTERPRET_PUT((to >> 2) + block + 1, b);
                }
                if (block < blocks) {
                    precise vec4 sum = vec4(0.0);
                    INTERPRET_PRODUCT(sum, INTERPRET_FROM_MEMORY, from, inputs,
                                      packed + block * inputs);
                    sum = INTERPRET_FOUR((other >> 2) + block) + sum;
                    INTERPRET_PUT((to >> 2) + block, sum);
                }
                break;
            }
            case bytecode_load_state:
                for (int block = 0; block < blocks; ++block)
                    INTERPRET_PUT((to >> 2) + block, INTERPRET_FROM_STATE(other, block));
                break;
            case bytecode_store_state:
                INTERPRET_SAVE(other, from, inputs);
                break;
#if INTERPRET_NEURONS > 0
            case bytecode_neurons: {
                // The table of NeuronTable (network/bytecode/neuron_table.hpp) lies where the next instruction was
                // looked for.
                const ivec4 table = next_head;
                const int one = to + 4 * blocks;
                int value = one + 1 + table.y;
                INTERPRET_AT(one, 0) = 1.0;
                for (int i = 0; i < table.y; ++i) INTERPRET_AT(one + 1, i) = INTERPRET_STATE[other + i];
                int record = position + 1;
#if INTERPRET_NEURONS == 1
#include "cambrian/gpu/shaders/scan/interpret_sums.glsl"
#else
#include "cambrian/gpu/shaders/scan/interpret_any_neurons.glsl"
#endif
                for (int i = 0; i < outputs; ++i)
                    INTERPRET_AT(to, i) = INTERPRET_AT(bytecode.at[record + (i >> 2)][i & 3], 0);
                for (int i = 0; i < table.y; ++i) {
                    const int at = outputs + i;
                    INTERPRET_STATE[other + i] = INTERPRET_AT(bytecode.at[record + (at >> 2)][at & 3], 0);
                }
                position += tail.w >> 2;
                next_head = bytecode.at[position];
                next_tail = bytecode.at[position + 1];
                break;
            }
#endif
        }
        head = next_head;
        tail = next_tail;
    }
    [[unroll]] for (int i = 0; i < INTERPRET_OUTPUTS; ++i)
        result[i] = INTERPRET_AT(head.z, i);
}

#undef INTERPRET_NAME
#undef INTERPRET_INPUTS
#undef INTERPRET_OUTPUTS
#undef INTERPRET_STATE
#undef INTERPRET_STATE_SIZE
#undef INTERPRET_MEMORY
#undef INTERPRET_STORE
#undef INTERPRET_LANES
#undef INTERPRET_FOUR
#undef INTERPRET_WORD
#undef INTERPRET_PUT
#undef INTERPRET_AT
#undef INTERPRET_NEURONS
#undef INTERPRET_ANY_ACTIVATION
#undef INTERPRET_ACTIVATE
#undef INTERPRET_ACTIVATE_TWO
#undef INTERPRET_CHANGE
#undef INTERPRET_WEIGHT
