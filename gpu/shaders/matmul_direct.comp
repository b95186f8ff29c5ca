#version 460
#extension GL_GOOGLE_include_directive : require
#include "prelude.glsl"
#include "elementary.glsl"
#include "ops.glsl"
#include "matmul.glsl"

// Products of many matrices too small for tiles: an invocation computes one element of a result.
// Without CAMBRIAN_STRICT terms are not rounded before they are added.

layout(constant_id = 1) const uint with_activation = 0;

void main() {
    uint m = push.word[0];
    uint n = push.word[1];
    uint k = push.word[2];
    uint element = group() * gl_WorkGroupSize.x + gl_LocalInvocationIndex;
    uint column = element % n;
    uint rest = element / n;
    uint row = rest % m;
    rest /= m;
    uint individual = rest / push.word[5];
    if (individual >= push.word[13]) {
        return;
    }
    Product product = locate(individual, rest % push.word[5]);
    bool transposed = flagged(flag_transpose_left);
    uint left_step = transposed ? m : 1U;
    uint left_at = row * (transposed ? 1U : k);
    transposed = flagged(flag_transpose_right);
    uint right_step = transposed ? 1U : n;
    uint right_at = column * (transposed ? k : 1U);
    Reals left = Reals(product.left);
    Reals right = Reals(product.right);
    float sum = 0.0F;
    [[dont_unroll]] for (uint i = 0U; i < k; ++i) {
        sum = accumulate(sum, left.at[left_at], right.at[right_at]);
        left_at += left_step;
        right_at += right_step;
    }
    if (flagged(flag_bias)) {
        sum = op_add(sum, Reals(product.bias).at[column]);
    }
    if (with_activation != 0U) {
        sum = op_activate(sum, product.code);
    }
    Reals(product.result).at[row * n + column] = sum;
}
