// What follows a finished sum where products are not cut into tiles (matmul.glsl): its bias and activation, where the
// constant with_activation is 1 for a common one and 2 for any. A macro: with a function some drivers keep the whole
// kernel waiting for a fifth longer.
#define ADD_EPILOGUE(sum, individual, column)                                                                \
    {                                                                                                        \
        if (flagged(flag_bias))                                                                              \
            sum = op_add(sum, Reals(push.address[3] + individual_bytes(individual, push.word[9])).at[column]); \
        if (with_activation != 0U) {                                                                         \
            int code = Integers(push.address[4] + individual_bytes(individual, push.word[10])).at[0];        \
            if (with_activation == 1U) sum = op_activate(sum, code);                                         \
            if (with_activation == 2U) sum = op_activate_any(sum, code);                                     \
        }                                                                                                    \
    }
