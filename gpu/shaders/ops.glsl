// What an elementwise op computes that is no function of elementary.glsl, as op_<name> for each type of
// its operands: exactly the bits of the CPU kernels (engine/cpu/kernel_table.cpp, activate.cpp). Real is float, integer is int,
// boolean is int 0 or 1. Where a comparison or a library function of a device might treat a NaN,
// a zero's sign or a subnormal number its own way, the bits are worked on instead. Needs
// elementary.glsl.

float op_neg(float x) { return uintBitsToFloat(floatBitsToUint(x) ^ sign_mask); }
int op_neg(int x) { return int(0U - uint(x)); }
float op_abs(float x) { return uintBitsToFloat(floatBitsToUint(x) & magnitude_mask); }
int op_abs(int x) { return x < 0 ? int(0U - uint(x)) : x; }

float op_sign(float x) {
    uint bits = floatBitsToUint(x);
    uint magnitude = bits & magnitude_mask;
    bool zero = magnitude == 0U || magnitude > exponent_mask;
    return uintBitsToFloat(zero ? 0U : one_bits | (bits & sign_mask));
}
int op_sign(int x) { return int(x > 0) - int(x < 0); }

// To the nearest integer, halves to even: 2^23 has no room for a fraction.
float op_round(float x) {
    uint bits = floatBitsToUint(x);
    uint magnitude = bits & magnitude_mask;
    precise float shifted = uintBitsToFloat(magnitude) + 8388608.0F;
    precise float whole = shifted - 8388608.0F;
    uint rounded = floatBitsToUint(whole) | (bits & sign_mask);
    return uintBitsToFloat(magnitude >= 0x4B000000U ? bits : rounded);
}

// The fraction bits below the binary point are cleared; for a negative number they are first
// carried into the rest.
float op_floor(float x) {
    uint bits = floatBitsToUint(x);
    uint field = (bits & exponent_mask) >> 23;
    uint below = fraction_mask >> min(field < 127U ? 0U : field - 127U, 23U);
    uint carried = (bits & sign_mask) != 0U ? bits + below : bits;
    bool below_zero = bits > sign_mask;
    uint of_fraction = below_zero ? sign_mask | one_bits : bits & sign_mask;
    uint of_number = field >= 150U ? bits : carried & ~below;
    return uintBitsToFloat(field < 127U ? of_fraction : of_number);
}

int op_is_finite(float x) {
    return int((floatBitsToUint(x) & exponent_mask) != exponent_mask);
}
int op_logical_not(int x) { return int(x == 0); }

// Toward zero; beyond the range to its nearest end, NaN to the lowest.
int op_real_to_integer(float x) {
    uint bits = floatBitsToUint(x);
    uint magnitude = bits & magnitude_mask;
    bool outside = magnitude >= 0x4F000000U;
    bool lowest = bits >= sign_mask || magnitude > exponent_mask;
    int inside = int(uintBitsToFloat(outside ? 0U : bits));
    return outside ? int(lowest ? 0x80000000U : 0x7FFFFFFFU) : inside;
}
int op_real_to_boolean(float x) { return int((floatBitsToUint(x) & magnitude_mask) != 0U); }
float op_integer_to_real(int x) { return float(x); }
int op_integer_to_boolean(int x) { return int(x != 0); }

float op_add(float a, float b) {
    precise float result = a + b;
    return result;
}
int op_add(int a, int b) { return int(uint(a) + uint(b)); }
float op_sub(float a, float b) {
    precise float result = a - b;
    return result;
}
int op_sub(int a, int b) { return int(uint(a) - uint(b)); }
float op_mul(float a, float b) {
    precise float result = a * b;
    return result;
}
int op_mul(int a, int b) { return int(uint(a) * uint(b)); }
float op_div(float a, float b) { return own_divide(a, b); }
// Toward zero; a divisor of 0, which is reported elsewhere, gives 0. Divides magnitudes: what a
// device makes of a quotient of negative integers may differ.
int op_div(int a, int b) {
    uint quotient = uint(op_abs(a)) / (b == 0 ? 1U : uint(op_abs(b)));
    uint with_sign = (a ^ b) < 0 ? 0U - quotient : quotient;
    return int(b == 0 ? 0U : with_sign);
}
float op_pow(float a, float b) { return own_pow(a, b); }

// a < b by the sign of their difference, which is exact where it matters: some devices keep subnormal
// numbers in arithmetic but compare them as zeros. Never true with a NaN.
bool real_less(float a, float b) {
    precise float difference = a - b;
    return floatBitsToUint(difference) - (sign_mask + 1U) < exponent_mask;
}
bool real_equal(float a, float b) {
    uint a_bits = floatBitsToUint(a);
    uint b_bits = floatBitsToUint(b);
    bool zeros = ((a_bits | b_bits) & magnitude_mask) == 0U;
    return zeros || (a_bits == b_bits && (a_bits & magnitude_mask) <= exponent_mask);
}

// The second operand wherever the comparison fails: two zeros, or a NaN on either side.
float op_min(float a, float b) {
    return uintBitsToFloat(real_less(a, b) ? floatBitsToUint(a) : floatBitsToUint(b));
}
int op_min(int a, int b) { return a < b ? a : b; }
float op_max(float a, float b) {
    return uintBitsToFloat(real_less(b, a) ? floatBitsToUint(a) : floatBitsToUint(b));
}
int op_max(int a, int b) { return a > b ? a : b; }

int op_less(float a, float b) { return int(real_less(a, b)); }
int op_less(int a, int b) { return int(a < b); }
int op_equal(float a, float b) { return int(real_equal(a, b)); }
int op_equal(int a, int b) { return int(a == b); }
int op_logical_and(int a, int b) { return a & b; }
int op_logical_or(int a, int b) { return a | b; }

float op_select(int condition, float a, float b) {
    return uintBitsToFloat(condition != 0 ? floatBitsToUint(a) : floatBitsToUint(b));
}
int op_select(int condition, int a, int b) { return condition != 0 ? a : b; }

// Positive numbers, infinity too, are the words from 1 up to its word.
float activation_relu(float x) {
    uint bits = floatBitsToUint(x);
    return uintBitsToFloat(bits - 1U < exponent_mask ? bits : 0U);
}
float activation_silu(float x) {
    precise float result = x * own_sigmoid(x);
    return result;
}
// gelu is 0.5 x (1 + tanh(inside)), and exact_gelu that of an erf.
float gelu_inside(float x) {
    precise float square = x * x;
    precise float cube = square * x;
    precise float share = 0.044715F * cube;
    precise float inner = x + share;
    precise float scaled = 0.797884561F * inner;
    return scaled;
}
float gelu_by(float x, float bent) {
    precise float above = 1.0F + bent;
    precise float half_x = 0.5F * x;
    precise float result = half_x * above;
    return result;
}
float activation_gelu(float x) {
    return gelu_by(x, own_tanh(gelu_inside(x)));
}

// By gene code, in the order of Activation (engine/graph/op.hpp); any other code is linear. What activations have in
// common is in the kernel once, and rows of different ones compute it together.
float op_activate(float x, int code) {
    switch (code) {
        case 1: return activation_relu(x);
        case 2:
        case 5: {
            float share = own_sigmoid(x);
            return code == 2 ? op_mul(x, share) : share;
        }
        case 3:
        case 4: {
            float bent = own_tanh(code == 3 ? gelu_inside(x) : x);
            return code == 3 ? gelu_by(x, bent) : bent;
        }
        default: return x;
    }
}

float activation_softplus(float x) {
    float power = own_exp(op_min(x, op_neg(x)));
    return op_add(op_max(0.0, x), own_log1p(power));
}

// Any activation by its code, in the order of engine/graph/activation_table.inl; any other code is
// linear.
float op_activate_any(float x, int code) {
    switch (code) {
        case 1: return activation_relu(x);
        case 2:
        case 5:
        case 6: {
            float share = own_sigmoid(code == 6 ? op_mul(4.9, x) : x);
            return code == 2 ? op_mul(x, share) : share;
        }
        case 3:
        case 4:
        case 15:
        case 22: {
            float inside = x;
            if (code == 3) inside = gelu_inside(x);
            if (code == 15 || code == 22) inside = activation_softplus(x);
            if (code == 15) return inside;
            float bent = own_tanh(inside);
            if (code == 3) return gelu_by(x, bent);
            return code == 22 ? op_mul(x, bent) : bent;
        }
        case 7: return own_sin(x);
        case 8: return own_cos(x);
        case 9: return own_exp(op_neg(op_mul(x, x)));
        case 10: return op_abs(x);
        case 11: return op_mul(x, x);
        case 12: return op_mul(op_mul(x, x), x);
        case 13: {
            float below = own_expm1(op_min(0.0, x));
            return real_less(0.0, x) ? x : below;
        }
        case 14: return real_less(0.0, x) ? x : op_mul(0.01, x);
        case 16: return op_min(op_max(x, -1.0), 1.0);
        case 17: return op_max(op_sub(1.0, op_abs(x)), 0.0);
        case 18: return op_sign(x);
        case 19: return real_less(0.0, x) ? 1.0 : 0.0;
        case 20: return op_min(op_max(x, 0.0), 6.0);
        case 21: {
            float lifted = op_min(op_max(op_add(x, 3.0), 0.0), 6.0);
            return op_mul(0.166666672, op_mul(x, lifted));
        }
        case 23: return gelu_by(x, own_erf(op_mul(0.707106769, x)));
        default: return x;
    }
}
