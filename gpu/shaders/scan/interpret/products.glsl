// Products, sums and copies of whole vectors for network.glsl.

#ifndef CAMBRIAN_INTERPRET_PRODUCTS
#define CAMBRIAN_INTERPRET_PRODUCTS
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
