// Products, sums and copies of whole vectors for network.glsl.

#ifndef CAMBRIAN_INTERPRET_PRODUCTS
#define CAMBRIAN_INTERPRET_PRODUCTS
// Four words of the memory, or of the state: of the vector that begins at a word, those from 4k on.
// What lies after the end of a vector does not matter.
#define INTERPRET_FROM_MEMORY(first, k) INTERPRET_FOUR(((first) >> 2) + (k))
#define INTERPRET_FROM_STATE(first, k)                                               \
    vec4(INTERPRET_STATE[(first) + 4 * (k)], INTERPRET_STATE[(first) + 4 * (k) + 1], \
         INTERPRET_STATE[(first) + 4 * (k) + 2], INTERPRET_STATE[(first) + 4 * (k) + 3])
// The weights of four inputs for a block of four outputs, and their terms added in ascending order.
#define INTERPRET_READ_FOUR(name, pointer, first)                       \
    const vec4 name##_0 = pointer.at[(first) * INTERPRET_SPREAD];       \
    const vec4 name##_1 = pointer.at[((first) + 1) * INTERPRET_SPREAD]; \
    const vec4 name##_2 = pointer.at[((first) + 2) * INTERPRET_SPREAD]; \
    const vec4 name##_3 = pointer.at[((first) + 3) * INTERPRET_SPREAD];
#define INTERPRET_ADD_FOUR(sum, name, inputs_of) \
    sum = sum + name##_0 * inputs_of.x;          \
    sum = sum + name##_1 * inputs_of.y;          \
    sum = sum + name##_2 * inputs_of.z;          \
    sum = sum + name##_3 * inputs_of.w;
// sum += weights x over a vector of that width, in ascending order; the four weights of each word
// lie side by side from four `first` on. Eight inputs in a turn, so that an invocation waits for
// memory half as often.
#define INTERPRET_PRODUCT(sum, FROM, source, width, first)                    \
    {                                                                         \
        PackedWeights sum_at = INTERPRET_FROM(PackedWeights, weights, first); \
        int k = 0;                                                            \
        for (; k + 1 < (width) >> 2; k += 2) {                                \
            const vec4 x = FROM(source, k);                                   \
            const vec4 y = FROM(source, k + 1);                               \
            INTERPRET_READ_FOUR(weight, sum_at, 0)                            \
            INTERPRET_READ_FOUR(next_weight, sum_at, 4)                       \
            INTERPRET_ADD_FOUR(sum, weight, x)                                \
            INTERPRET_ADD_FOUR(sum, next_weight, y)                           \
            sum_at = INTERPRET_FROM(PackedWeights, sum_at, 8);                \
        }                                                                     \
        if (k < (width) >> 2) {                                               \
            const vec4 x = FROM(source, k);                                   \
            INTERPRET_READ_FOUR(weight, sum_at, 0)                            \
            INTERPRET_ADD_FOUR(sum, weight, x)                                \
            sum_at = INTERPRET_FROM(PackedWeights, sum_at, 4);                \
        }                                                                     \
        const int rest = (width) & 3;                                         \
        if (rest > 0) {                                                       \
            const vec4 x = FROM(source, (width) >> 2);                        \
            sum = sum + sum_at.at[0] * x.x;                                   \
            if (rest > 1) sum = sum + sum_at.at[INTERPRET_SPREAD] * x.y;      \
            if (rest > 2) sum = sum + sum_at.at[2 * INTERPRET_SPREAD] * x.z;  \
        }                                                                     \
    }
// The same for two blocks of four outputs: one alone leaves an invocation waiting.
#define INTERPRET_PRODUCT_TWO(sum_a, sum_b, FROM, source, width, first_a, first_b) \
    {                                                                              \
        PackedWeights a_at = INTERPRET_FROM(PackedWeights, weights, first_a);      \
        PackedWeights b_at = INTERPRET_FROM(PackedWeights, weights, first_b);      \
        int k = 0;                                                                 \
        for (; k + 1 < (width) >> 2; k += 2) {                                     \
            const vec4 x = FROM(source, k);                                        \
            const vec4 y = FROM(source, k + 1);                                    \
            INTERPRET_READ_FOUR(a, a_at, 0)                                        \
            INTERPRET_READ_FOUR(b, b_at, 0)                                        \
            INTERPRET_READ_FOUR(next_a, a_at, 4)                                   \
            INTERPRET_READ_FOUR(next_b, b_at, 4)                                   \
            INTERPRET_ADD_FOUR(sum_a, a, x)                                        \
            INTERPRET_ADD_FOUR(sum_b, b, x)                                        \
            INTERPRET_ADD_FOUR(sum_a, next_a, y)                                   \
            INTERPRET_ADD_FOUR(sum_b, next_b, y)                                   \
            a_at = INTERPRET_FROM(PackedWeights, a_at, 8);                         \
            b_at = INTERPRET_FROM(PackedWeights, b_at, 8);                         \
        }                                                                          \
        if (k < (width) >> 2) {                                                    \
            const vec4 x = FROM(source, k);                                        \
            INTERPRET_READ_FOUR(a, a_at, 0)                                        \
            INTERPRET_READ_FOUR(b, b_at, 0)                                        \
            INTERPRET_ADD_FOUR(sum_a, a, x)                                        \
            INTERPRET_ADD_FOUR(sum_b, b, x)                                        \
            a_at = INTERPRET_FROM(PackedWeights, a_at, 4);                         \
            b_at = INTERPRET_FROM(PackedWeights, b_at, 4);                         \
        }                                                                          \
        const int rest = (width) & 3;                                              \
        if (rest > 0) {                                                            \
            const vec4 x = FROM(source, (width) >> 2);                             \
            sum_a = sum_a + a_at.at[0] * x.x;                                      \
            sum_b = sum_b + b_at.at[0] * x.x;                                      \
            if (rest > 1) {                                                        \
                sum_a = sum_a + a_at.at[INTERPRET_SPREAD] * x.y;                   \
                sum_b = sum_b + b_at.at[INTERPRET_SPREAD] * x.y;                   \
            }                                                                      \
            if (rest > 2) {                                                        \
                sum_a = sum_a + a_at.at[2 * INTERPRET_SPREAD] * x.z;               \
                sum_b = sum_b + b_at.at[2 * INTERPRET_SPREAD] * x.z;               \
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
#define INTERPRET_SAVE(first, source, width)                           \
    for (int at = 0; at < (width); at += 4) {                          \
        const vec4 x = INTERPRET_FROM_MEMORY(source, at >> 2);         \
        INTERPRET_STATE[(first) + at] = x.x;                           \
        if (at + 1 < (width)) INTERPRET_STATE[(first) + at + 1] = x.y; \
        if (at + 2 < (width)) INTERPRET_STATE[(first) + at + 2] = x.z; \
        if (at + 3 < (width)) INTERPRET_STATE[(first) + at + 3] = x.w; \
    }
#endif
