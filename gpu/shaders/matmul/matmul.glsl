// What the kernels of matmul and matmul_epilogue share: where the matrices of a product lie, and what is done
// to a sum before it is stored. Push block:
//   address  left, right, result, bias, code, batch axes
//   word     0 m, 1 n, 2 k, 3 tiles down, 4 tiles across, 5 matrices of an individual,
//            6-10 words between individuals of left, right, result, bias, code,
//            11 flags, 12 number of batch axes, 13 individuals, 14 words of one result of several
// A batch axis is three words: extent, words between matrices of left and of right. A packed right matrix
// (MATMUL_PACKED) has no axes (left matrices of an individual follow each other, as results do), but
//   address  6 scales, 7 zero points
//   word     12 and 14 words between those of individuals

const uint flag_transpose_left = 1U;
const uint flag_transpose_right = 2U;
const uint flag_bias = 4U;
const uint flag_activation = 8U;
const uint flag_aligned_result = 16U;  // Rows of the result start on 16 bytes.

bool flagged(uint flag) {
    return (push.word[11] & flag) != 0U;
}

// Bytes from an operand's start to an individual.
uint64_t individual_bytes(uint individual, uint stride) {
    return uint64_t(individual) * uint64_t(stride) * 4UL;
}

struct Product {
    uint64_t left;
    uint64_t right;
    uint64_t result;
    uint64_t bias;
    int code;
};

Product locate(uint individual, uint matrix) {
    Product product;
    product.left = push.address[0] + individual_bytes(individual, push.word[6]);
    product.right = push.address[1] + individual_bytes(individual, push.word[7]);
    product.result = push.address[2] + individual_bytes(individual, push.word[8]);
#ifdef MATMUL_PACKED
    product.left += uint64_t(matrix) * uint64_t(push.word[0]) * uint64_t(push.word[2]) * 4UL;
    product.result += uint64_t(matrix) * uint64_t(push.word[0]) * uint64_t(push.word[1]) * 4UL;
#else
    product.result += uint64_t(matrix) * uint64_t(push.word[14]) * 4UL;
    Words axes = Words(push.address[5]);
    uint rest = matrix;
    [[dont_unroll]] for (uint axis = push.word[12]; axis > 0U; --axis) {
        uint at = 3U * (axis - 1U);
        uint index = rest % axes.at[at];
        rest /= axes.at[at];
        product.left += uint64_t(index) * uint64_t(axes.at[at + 1U]) * 4UL;
        product.right += uint64_t(index) * uint64_t(axes.at[at + 2U]) * 4UL;
    }
#endif
    product.bias = push.address[3] + individual_bytes(individual, push.word[9]);
    product.code = 0;
    if (flagged(flag_activation)) {
        product.code =
            Integers(push.address[4] + individual_bytes(individual, push.word[10])).at[0];
    }
    return product;
}

// One more term of a sum, in the order of k.
float accumulate(float sum, float a, float b) {
#ifdef CAMBRIAN_STRICT
    precise float term = a * b;
    precise float result = sum + term;
    return result;
#else
    return fma(a, b, sum);
#endif
}

vec4 accumulate(vec4 sum, float a, vec4 b) {
#ifdef CAMBRIAN_STRICT
    precise vec4 term = a * b;
    precise vec4 result = sum + term;
    return result;
#else
    return fma(vec4(a), b, sum);
#endif
}

// A fused product may underflow to -0 in the first terms, and the zeros that fill a tile up would make
// that +0: all tiles give +0.
float finished(float sum) {
    return op_add(sum, 0.0F);
}
