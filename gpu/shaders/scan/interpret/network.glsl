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
//   INTERPRET_NEURONS  InterpretAttribute::neurons, the code of a NeuronSet: 0 none, 1 sums, 2 any, 3 plastic
//   INTERPRET_TEAMS    where the lanes of a team walk one row together (team.glsl), each with a state of its own;
//                      not with neurons
//   INTERPRET_SPREAD   fours from one of the bytecode and the weights to the next: those between are others' networks
//   INTERPRET_EACH_INPUT  [[unroll]], or [[dont_unroll]] where inputs are many for a compiler
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
// Four i of the bytecode, and of the packed weights.
#define INTERPRET_CODE(i) bytecode.at[(i) * INTERPRET_SPREAD]
#define INTERPRET_PACKED(i) weights.at[(i) * INTERPRET_SPREAD]
// The fours from one on. A constant place after an address is free; an index is three instructions.
#define INTERPRET_POINTER(Fours, fours, first) \
    Fours(uint64_t(fours) + uint64_t(16 * INTERPRET_SPREAD) * uint64_t(uint(first)))

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
#endif

#include "cambrian/gpu/shaders/scan/interpret/activations.glsl"
#include "cambrian/gpu/shaders/scan/interpret/products.glsl"
#if INTERPRET_NEURONS > 0
#include "cambrian/gpu/shaders/scan/interpret/neurons.glsl"
#endif

#ifdef INTERPRET_TEAMS
#define INTERPRET_TEAM (max_team > 1u ? team_size : 1)
#define INTERPRET_MEMBER (max_team > 1u ? team_member : 0)
#define INTERPRET_COLUMN team_number
#define INTERPRET_MEET meet_team();
#else
#define INTERPRET_TEAM 1
#define INTERPRET_MEMBER 0
#define INTERPRET_COLUMN gl_LocalInvocationID.x
#define INTERPRET_MEET
#endif

// Vectors begin at multiples of four words; their last four may be filled up with anything. Layers take
// fours, neurons single words: in shared memory what neighbours read at once lies side by side.
#if defined(INTERPRET_LANES) && INTERPRET_NEURONS > 0
shared float INTERPRET_STORE[INTERPRET_MEMORY][INTERPRET_LANES];
#define INTERPRET_WORD(i) INTERPRET_STORE[i][INTERPRET_COLUMN]
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
shared vec4 INTERPRET_STORE[INTERPRET_MEMORY / 4][INTERPRET_LANES];
#define INTERPRET_FOUR(i) INTERPRET_STORE[i][INTERPRET_COLUMN]
#else
#define INTERPRET_FOUR(i) memory[i]
#endif
#define INTERPRET_WORD(i) INTERPRET_FOUR((i) >> 2)[(i) & 3]
#define INTERPRET_PUT(i, four) INTERPRET_FOUR(i) = four
#endif
// Element i of the vector that begins at word `first` of the memory.
#define INTERPRET_AT(first, i) INTERPRET_WORD((first) + (i))

float INTERPRET_STATE[INTERPRET_STATE_SIZE];

void INTERPRET_NAME(Bytecode bytecode, PackedWeights weights, in float row[INTERPRET_INPUTS],
                    out float result[INTERPRET_OUTPUTS]) {
#ifndef INTERPRET_LANES
    vec4 memory[INTERPRET_MEMORY / 4];
#endif
    INTERPRET_MEET  // Others may still read the last result.
    if (INTERPRET_MEMBER == 0) {
        INTERPRET_EACH_INPUT for (int i = 0; i < INTERPRET_INPUTS; ++i) INTERPRET_WORD(i) = row[i];
    }
    INTERPRET_MEET

    int position = 0;
    ivec4 head = INTERPRET_CODE(0);
    ivec4 tail = INTERPRET_CODE(1);
    while (head.x != bytecode_end) {
        // Asked for now, there by the time this instruction is done.
        position += 2;
        ivec4 next_head = INTERPRET_CODE(position);
        ivec4 next_tail = INTERPRET_CODE(position + 1);
        const int to = head.y;
        const int from = head.z;
        const int other = head.w;
        const int inputs = tail.x;
        const int outputs = tail.y;
        const int blocks = (outputs + 3) >> 2;
        const int packed = tail.z >> 2;
        const float detail = intBitsToFloat(tail.w);
        // Most instructions: found by one comparison, the others by three and more.
        if (head.x == bytecode_dense) {
            int block = INTERPRET_MEMBER;
            for (; block + INTERPRET_TEAM < blocks; block += 2 * INTERPRET_TEAM) {
                const int first = packed + block * (inputs + 1);
                const int second = first + INTERPRET_TEAM * (inputs + 1);
                // Asked for before they are needed.
                const vec4 bias_a = INTERPRET_PACKED(first + inputs);
                const vec4 bias_b = INTERPRET_PACKED(second + inputs);
                precise vec4 a;
                precise vec4 b;
                INTERPRET_PRODUCT_TWO(a, b, INTERPRET_FROM_MEMORY, from, inputs, first, second);
                a = a + bias_a;
                b = b + bias_b;
                INTERPRET_ACTIVATE_TWO(a, b, tail.w);
                INTERPRET_PUT((to >> 2) + block, a);
                INTERPRET_PUT((to >> 2) + block + INTERPRET_TEAM, b);
            }
            if (block < blocks) {
                const int first = packed + block * (inputs + 1);
                precise vec4 sum;
                INTERPRET_PRODUCT(sum, INTERPRET_FROM_MEMORY, from, inputs, first);
                sum = sum + INTERPRET_PACKED(first + inputs);
                INTERPRET_PUT((to >> 2) + block, INTERPRET_ACTIVATE(sum, tail.w));
            }
        } else switch (head.x) {
            case bytecode_rnn: {
                int block = INTERPRET_MEMBER;
                for (; block + INTERPRET_TEAM < blocks; block += 2 * INTERPRET_TEAM) {
                    const int first = packed + block * (inputs + outputs + 1);
                    const int second = first + INTERPRET_TEAM * (inputs + outputs + 1);
                    precise vec4 a;
                    precise vec4 b;
                    INTERPRET_PRODUCT_TWO(a, b, INTERPRET_FROM_MEMORY, from, inputs, first, second);
                    precise vec4 memory_a;
                    precise vec4 memory_b;
                    INTERPRET_PRODUCT_TWO(memory_a, memory_b, INTERPRET_FROM_STATE, other, outputs,
                                          first + inputs, second + inputs);
                    a = a + memory_a;
                    b = b + memory_b;
                    a = a + INTERPRET_PACKED(first + inputs + outputs);
                    b = b + INTERPRET_PACKED(second + inputs + outputs);
                    interpret_activate_two(a, b, 4);
                    INTERPRET_PUT((to >> 2) + block, a);
                    INTERPRET_PUT((to >> 2) + block + INTERPRET_TEAM, b);
                }
                if (block < blocks) {
                    const int first = packed + block * (inputs + outputs + 1);
                    precise vec4 sum;
                    INTERPRET_PRODUCT(sum, INTERPRET_FROM_MEMORY, from, inputs, first);
                    precise vec4 memory_sum;
                    INTERPRET_PRODUCT(memory_sum, INTERPRET_FROM_STATE, other, outputs,
                                      first + inputs);
                    sum = sum + memory_sum;
                    sum = sum + INTERPRET_PACKED(first + inputs + outputs);
                    INTERPRET_PUT((to >> 2) + block, interpret_activate(sum, 4));
                }
                INTERPRET_MEET
                INTERPRET_SAVE(other, to, outputs);
                break;
            }
            case bytecode_rms_norm: {
                precise float total;
                INTERPRET_SUM(total, INTERPRET_SQUARE, from, inputs);
                precise float mean = total * intBitsToFloat(other);
                precise float shifted = mean + detail;
                const float scale = CAMBRIAN_CALL(rsqrt)(shifted);
                for (int block = INTERPRET_MEMBER; block < blocks; block += INTERPRET_TEAM) {
                    precise vec4 y = INTERPRET_FOUR((from >> 2) + block) * scale;
                    y = y * INTERPRET_PACKED(packed + block);
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
                for (int block = INTERPRET_MEMBER; block < blocks; block += INTERPRET_TEAM) {
                    precise vec4 y = INTERPRET_FOUR((from >> 2) + block) - mean;
                    y = y * scale;
                    y = y * INTERPRET_PACKED(packed + block);
                    y = y + INTERPRET_PACKED(packed + blocks + block);
                    INTERPRET_PUT((to >> 2) + block, y);
                }
                break;
            }
            case bytecode_softmax: {
                // One after another: by one lane of a team.
                if (INTERPRET_MEMBER > 0) break;
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
                for (int block = INTERPRET_MEMBER; block < blocks; block += INTERPRET_TEAM) {
                    precise vec4 y = INTERPRET_FOUR((from >> 2) + block) + INTERPRET_FOUR((other >> 2) + block);
                    INTERPRET_PUT((to >> 2) + block, y);
                }
                break;
            case bytecode_scale_add:
                for (int block = INTERPRET_MEMBER; block < blocks; block += INTERPRET_TEAM) {
                    precise vec4 scaled = INTERPRET_FOUR((from >> 2) + block) * INTERPRET_PACKED(packed + block);
                    precise vec4 y = INTERPRET_FOUR((other >> 2) + block) + scaled;
                    INTERPRET_PUT((to >> 2) + block, y);
                }
                break;
            case bytecode_project_add: {
                int block = INTERPRET_MEMBER;
                for (; block + INTERPRET_TEAM < blocks; block += 2 * INTERPRET_TEAM) {
                    const int first = packed + block * inputs;
                    precise vec4 a;
                    precise vec4 b;
                    INTERPRET_PRODUCT_TWO(a, b, INTERPRET_FROM_MEMORY, from, inputs, first,
                                          first + INTERPRET_TEAM * inputs);
                    a = INTERPRET_FOUR((other >> 2) + block) + a;
                    b = INTERPRET_FOUR((other >> 2) + block + INTERPRET_TEAM) + b;
                    INTERPRET_PUT((to >> 2) + block, a);
                    INTERPRET_PUT((to >> 2) + block + INTERPRET_TEAM, b);
                }
                if (block < blocks) {
                    precise vec4 sum;
                    INTERPRET_PRODUCT(sum, INTERPRET_FROM_MEMORY, from, inputs,
                                      packed + block * inputs);
                    sum = INTERPRET_FOUR((other >> 2) + block) + sum;
                    INTERPRET_PUT((to >> 2) + block, sum);
                }
                break;
            }
            case bytecode_load_state:
                for (int block = INTERPRET_MEMBER; block < blocks; block += INTERPRET_TEAM)
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
                // Not where the records were left: a device may end their loop early (max_turns).
                const int places_out = record + (table.z >> 2);
#if INTERPRET_NEURONS == 1
#include "cambrian/gpu/shaders/scan/interpret/sums.glsl"
#else
#include "cambrian/gpu/shaders/scan/interpret/any_neurons.glsl"
#endif
                for (int i = 0; i < outputs; ++i)
                    INTERPRET_AT(to, i) = INTERPRET_AT(INTERPRET_CODE(places_out + (i >> 2))[i & 3], 0);
                for (int i = 0; i < table.y; ++i) {
                    const int at = outputs + i;
                    INTERPRET_STATE[other + i] = INTERPRET_AT(INTERPRET_CODE(places_out + (at >> 2))[at & 3], 0);
                }
                position += tail.w >> 2;
                next_head = INTERPRET_CODE(position);
                next_tail = INTERPRET_CODE(position + 1);
                break;
            }
#endif
        }
        INTERPRET_MEET
        head = next_head;
        tail = next_tail;
    }
    [[unroll]] for (int i = 0; i < INTERPRET_OUTPUTS; ++i)
        result[i] = INTERPRET_AT(head.z, i);
}

#undef INTERPRET_NAME
#undef INTERPRET_INPUTS
#undef INTERPRET_EACH_INPUT
#undef INTERPRET_OUTPUTS
#undef INTERPRET_STATE
#undef INTERPRET_STATE_SIZE
#undef INTERPRET_MEMORY
#undef INTERPRET_STORE
#undef INTERPRET_LANES
#undef INTERPRET_TEAMS
#undef INTERPRET_TEAM
#undef INTERPRET_MEMBER
#undef INTERPRET_COLUMN
#undef INTERPRET_MEET
#undef INTERPRET_FOUR
#undef INTERPRET_WORD
#undef INTERPRET_PUT
#undef INTERPRET_AT
#undef INTERPRET_NEURONS
#undef INTERPRET_SPREAD
#undef INTERPRET_ANY_ACTIVATION
#undef INTERPRET_ACTIVATE
#undef INTERPRET_ACTIVATE_TWO
#undef INTERPRET_CHANGE
#undef INTERPRET_WEIGHT
