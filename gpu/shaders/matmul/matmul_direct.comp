#version 460
#extension GL_GOOGLE_include_directive : require
#include "cambrian/gpu/shaders/prelude.glsl"
#include "cambrian/gpu/shaders/elementary.glsl"
#include "cambrian/gpu/shaders/ops.glsl"
#include "cambrian/gpu/shaders/matmul/matmul.glsl"

// Products of many matrices too small for tiles: an invocation computes one element of a result.
// Without CAMBRIAN_STRICT terms are not rounded before they are added. A dispatch adds the terms from
// word[3] up to word[4] to the sum so far; the last one finishes it.

layout(constant_id = 1) const uint with_activation = 0;  // 1: a common one, 2: any.

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
    uint left_at = row * (transposed ? 1U : k) + push.word[3] * left_step;
    transposed = flagged(flag_transpose_right);
    uint right_step = transposed ? 1U : n;
    uint right_at = column * (transposed ? k : 1U) + push.word[3] * right_step;
    Reals left = Reals(product.left);
    Reals right = Reals(product.right);
    Reals result = Reals(product.result);
    float sum = 0.0F;
    if (push.word[3] > 0U) sum = result.at[row * n + column];
    [[dont_unroll]] for (uint i = push.word[3]; i < push.word[4]; ++i) {
        sum = accumulate(sum, left.at[left_at], right.at[right_at]);
        left_at += left_step;
        right_at += right_step;
    }
    if (push.word[4] < k) {
        result.at[row * n + column] = sum;
        return;
    }
    sum = finished(sum);
    if (flagged(flag_bias)) {
        sum = op_add(sum, Reals(product.bias).at[column]);
    }
    if (with_activation == 1U) {
        sum = op_activate(sum, product.code);
    } else if (with_activation == 2U) {
        sum = op_activate_any(sum, product.code);
    }
    result.at[row * n + column] = sum;
}
