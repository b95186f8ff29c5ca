// Products, sums and copies of whole vectors for network.glsl.

#ifndef CAMBRIAN_INTERPRET_PRODUCTS
#define CAMBRIAN_INTERPRET_PRODUCTS
// Four words of the memory, or of the state: of the vector that begins at a word, those from 4k on.
// What lies after the end of a vector does not matter.
#define INTERPRET_FROM_MEMORY(first, k) INTERPRET_FOUR(((first) >> 2) + (k))
#define INTERPRET_FROM_STATE(first, k)                                               \
    vec4(INTERPRET_STATE[(first) + 4 * (k)], INTERPRET_STATE[(first) + 4 * (k) + 1], \
         INTERPRET_STATE[(first) + 4 * (k) + 2], INTERPRET_STATE[(first) + 4 * (k) + 3])
// A product is `product_0`, of a block of four outputs, or two of them side by side: one alone leaves an invocation
// waiting. What is done for a block is done for each by INTERPRET_ONE or INTERPRET_TWO.
#define INTERPRET_ONE(DO, argument) DO(0, argument)
#define INTERPRET_TWO(DO, argument) DO(0, argument) DO(1, argument)
// The weights of four inputs, of four more, and their terms in ascending order.
#define INTERPRET_READ(block, unused)                                    \
    const vec4 weight_##block##_0 = at_##block.at[0];                    \
    const vec4 weight_##block##_1 = at_##block.at[INTERPRET_SPREAD];     \
    const vec4 weight_##block##_2 = at_##block.at[2 * INTERPRET_SPREAD]; \
    const vec4 weight_##block##_3 = at_##block.at[3 * INTERPRET_SPREAD];
#define INTERPRET_READ_MORE(block, unused)                               \
    const vec4 weight_##block##_4 = at_##block.at[4 * INTERPRET_SPREAD]; \
    const vec4 weight_##block##_5 = at_##block.at[5 * INTERPRET_SPREAD]; \
    const vec4 weight_##block##_6 = at_##block.at[6 * INTERPRET_SPREAD]; \
    const vec4 weight_##block##_7 = at_##block.at[7 * INTERPRET_SPREAD];
#define INTERPRET_ADD(block, inputs_of)                                   \
    product_##block = product_##block + weight_##block##_0 * inputs_of.x; \
    product_##block = product_##block + weight_##block##_1 * inputs_of.y; \
    product_##block = product_##block + weight_##block##_2 * inputs_of.z; \
    product_##block = product_##block + weight_##block##_3 * inputs_of.w;
#define INTERPRET_ADD_MORE(block, inputs_of)                              \
    product_##block = product_##block + weight_##block##_4 * inputs_of.x; \
    product_##block = product_##block + weight_##block##_5 * inputs_of.y; \
    product_##block = product_##block + weight_##block##_6 * inputs_of.z; \
    product_##block = product_##block + weight_##block##_7 * inputs_of.w;
#define INTERPRET_ADD_FIRST(block, input_word) product_##block = product_##block + at_##block.at[0] * input_word;
#define INTERPRET_ADD_SECOND(block, input_word) \
    product_##block = product_##block + at_##block.at[INTERPRET_SPREAD] * input_word;
#define INTERPRET_ADD_THIRD(block, input_word) \
    product_##block = product_##block + at_##block.at[2 * INTERPRET_SPREAD] * input_word;
#define INTERPRET_MOVE(block, fours) at_##block = INTERPRET_POINTER(PackedWeights, at_##block, fours);
// Adds weights times inputs over a vector of that width, in ascending order; the four weights of each word lie side by
// side from at_0 (and at_1) on. Eight inputs in a turn, so that an invocation waits for memory half as often.
#define INTERPRET_ADD_ALL(EACH, FROM, source, width)      \
    int k = 0;                                            \
    for (; k + 1 < (width) >> 2; k += 2) {                \
        const vec4 x = FROM(source, k);                   \
        const vec4 y = FROM(source, k + 1);               \
        EACH(INTERPRET_READ, 0)                           \
        EACH(INTERPRET_READ_MORE, 0)                      \
        EACH(INTERPRET_ADD, x)                            \
        EACH(INTERPRET_ADD_MORE, y)                       \
        EACH(INTERPRET_MOVE, 8)                           \
    }                                                     \
    if (k < (width) >> 2) {                               \
        const vec4 x = FROM(source, k);                   \
        EACH(INTERPRET_READ, 0)                           \
        EACH(INTERPRET_ADD, x)                            \
        EACH(INTERPRET_MOVE, 4)                           \
    }                                                     \
    const int rest = (width) & 3;                         \
    if (rest > 0) {                                       \
        const vec4 x = FROM(source, (width) >> 2);        \
        EACH(INTERPRET_ADD_FIRST, x.x)                    \
        if (rest > 1) { EACH(INTERPRET_ADD_SECOND, x.y) } \
        if (rest > 2) { EACH(INTERPRET_ADD_THIRD, x.z) }  \
    }
// sum = weights x, its weights from four `first` on, and the same for two sums.
#define INTERPRET_PRODUCT(sum, FROM, source, width, first)                     \
    {                                                                          \
        PackedWeights at_0 = INTERPRET_POINTER(PackedWeights, weights, first); \
        precise vec4 product_0 = vec4(0.0);                                    \
        INTERPRET_ADD_ALL(INTERPRET_ONE, FROM, source, width)                  \
        sum = product_0;                                                       \
    }
#define INTERPRET_PRODUCT_TWO(sum_a, sum_b, FROM, source, width, first_a, first_b) \
    {                                                                              \
        PackedWeights at_0 = INTERPRET_POINTER(PackedWeights, weights, first_a);   \
        PackedWeights at_1 = INTERPRET_POINTER(PackedWeights, weights, first_b);   \
        precise vec4 product_0 = vec4(0.0);                                        \
        precise vec4 product_1 = vec4(0.0);                                        \
        INTERPRET_ADD_ALL(INTERPRET_TWO, FROM, source, width)                      \
        sum_a = product_0;                                                         \
        sum_b = product_1;                                                         \
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
