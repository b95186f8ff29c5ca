// Elementary functions from additions, multiplications, comparisons and bit operations only: one
// text for C++ and GLSL, so that every device computes the same bits. The includer defines
//   CAMBRIAN_ELEMENTARY(name)  declares a function of that name that returns float
//   CAMBRIAN_CALL(name)        the name such a function is called by
//   CAMBRIAN_PRECISE           marks a local whose operations may not be fused or reordered
//   CAMBRIAN_EXACT_SUM(a, b, c)  a b + c where a b is exact: one rounding or two, the same bits
//   uint, float_to_bits, bits_to_float
// No expression below may be contracted: compile C++ with -ffp-contract=off. Operands that are
// subnormal count as zero and subnormal results are zero, by tests on the bits, whether or not the
// device flushes. Each function is one flow without branches: loops over it become vector code, and
// a GPU overlaps neighbouring calls. A choice is between two names, since compilers of GLSL make
// branches of choices between expressions (and of && and ||).

const uint exponent_mask = 0x7F800000U;
const uint fraction_mask = 0x007FFFFFU;
const uint magnitude_mask = 0x7FFFFFFFU;
const uint sign_mask = 0x80000000U;
const uint one_bits = 0x3F800000U;
const uint sqrt_half_bits = 0x3F3504F3U;
const uint not_a_number_bits = 0x7FC00000U;
const uint least_not_a_number = 0x7F800001U;
// The negative number nearest to zero that is not subnormal.
const uint least_negative = 0x80800000U;
// Adding and subtracting 1.5 * 2^23 rounds to an integer; it lies in the low bits of the sum.
const float rounding_shift = 12582912.0F;
const uint rounding_shift_bits = 0x4B400000U;
const float log2_e = 1.44269502F;
const float ln_2_high = 0.693145752F;
const float ln_2_low = 1.42860677e-6F;

// x * 2^exponent for x in [0.5, 4), rounded to zero or infinity outside the normal range.
CAMBRIAN_ELEMENTARY(scale_by_power)(float x, int exponent) {
    uint bits = float_to_bits(x);
    int field = int(bits >> 23) + exponent;
    uint scaled = bits + (uint(exponent) << 23);
    uint finite = field <= 0 ? 0U : scaled;
    return bits_to_float(field >= 255 ? exponent_mask : finite);
}

// The quotient of two numbers in [1, 2), with one correction by its exact remainder.
CAMBRIAN_ELEMENTARY(fraction_quotient)(float a, float b) {
    CAMBRIAN_PRECISE float guess = 1.41176474F - 0.470588237F * b;
    CAMBRIAN_PRECISE float error_0 = 1.0F - b * guess;
    CAMBRIAN_PRECISE float once = guess + guess * error_0;
    CAMBRIAN_PRECISE float error_1 = 1.0F - b * once;
    CAMBRIAN_PRECISE float inverse = once + once * error_1;
    CAMBRIAN_PRECISE float quotient = a * inverse;
    CAMBRIAN_PRECISE float quotient_high = bits_to_float(float_to_bits(quotient) & 0xFFFFF000U);
    CAMBRIAN_PRECISE float quotient_low = quotient - quotient_high;
    CAMBRIAN_PRECISE float b_high = bits_to_float(float_to_bits(b) & 0xFFFFF000U);
    CAMBRIAN_PRECISE float b_low = b - b_high;
    CAMBRIAN_PRECISE float remainder_0 = CAMBRIAN_EXACT_SUM(-quotient_high, b_high, a);
    CAMBRIAN_PRECISE float remainder_1 = CAMBRIAN_EXACT_SUM(-quotient_high, b_low, remainder_0);
    CAMBRIAN_PRECISE float remainder_2 = CAMBRIAN_EXACT_SUM(-quotient_low, b_high, remainder_1);
    CAMBRIAN_PRECISE float remainder_3 = CAMBRIAN_EXACT_SUM(-quotient_low, b_low, remainder_2);
    CAMBRIAN_PRECISE float corrected = quotient + remainder_3 * inverse;
    return corrected;
}

// a / b over the whole normal range.
CAMBRIAN_ELEMENTARY(divide)(float a, float b) {
    uint a_bits = float_to_bits(a);
    uint b_bits = float_to_bits(b);
    uint sign = (a_bits ^ b_bits) & sign_mask;
    uint a_field = a_bits & exponent_mask;
    uint b_field = b_bits & exponent_mask;
    CAMBRIAN_PRECISE float a_fraction = bits_to_float((a_bits & fraction_mask) | one_bits);
    CAMBRIAN_PRECISE float b_fraction = bits_to_float((b_bits & fraction_mask) | one_bits);
    CAMBRIAN_PRECISE float quotient = CAMBRIAN_CALL(fraction_quotient)(a_fraction, b_fraction);
    int exponent = int(a_field >> 23) - int(b_field >> 23);
    uint scaled = float_to_bits(CAMBRIAN_CALL(scale_by_power)(quotient, exponent));
    uint infinite = (a_field == exponent_mask ? 1U : 0U) | (b_field == 0U ? 1U : 0U);
    uint zero = (a_field == 0U ? 1U : 0U) | (b_field == exponent_mask ? 1U : 0U);
    uint a_invalid = (a_bits & magnitude_mask) > exponent_mask ? 1U : 0U;
    uint b_invalid = (b_bits & magnitude_mask) > exponent_mask ? 1U : 0U;
    uint not_zero = infinite != 0U ? exponent_mask : scaled;
    uint magnitude = zero != 0U ? 0U : not_zero;
    uint with_sign = magnitude | sign;
    uint invalid = (infinite & zero) | a_invalid | b_invalid;
    return bits_to_float(invalid != 0U ? not_a_number_bits : with_sign);
}

// 1 / x.
CAMBRIAN_ELEMENTARY(reciprocal)(float x) {
    uint bits = float_to_bits(x);
    uint field = bits & exponent_mask;
    CAMBRIAN_PRECISE float fraction = bits_to_float((bits & fraction_mask) | one_bits);
    CAMBRIAN_PRECISE float quotient = CAMBRIAN_CALL(fraction_quotient)(1.0F, fraction);
    uint scaled = float_to_bits(CAMBRIAN_CALL(scale_by_power)(quotient, 127 - int(field >> 23)));
    uint finite = field == 0U ? exponent_mask : scaled;
    uint magnitude = field == exponent_mask ? 0U : finite;
    uint with_sign = magnitude | (bits & sign_mask);
    return bits_to_float((bits & magnitude_mask) > exponent_mask ? not_a_number_bits : with_sign);
}

// 1 / sqrt(x) of x in [1, 4) to about 2^-17, by two Newton steps.
CAMBRIAN_ELEMENTARY(fraction_rsqrt)(float x) {
    CAMBRIAN_PRECISE float guess = bits_to_float(0x5F375A86U - (float_to_bits(x) >> 1));
    CAMBRIAN_PRECISE float half_x = 0.5F * x;
    CAMBRIAN_PRECISE float error_0 = 0.5F - (half_x * guess) * guess;
    CAMBRIAN_PRECISE float once = guess + guess * error_0;
    CAMBRIAN_PRECISE float error_1 = 0.5F - (half_x * once) * once;
    CAMBRIAN_PRECISE float twice = once + once * error_1;
    return twice;
}

// x = fraction * 4^half_exponent with fraction in [1, 4).
CAMBRIAN_ELEMENTARY(even_fraction)(uint bits, int half_exponent) {
    return bits_to_float((bits & magnitude_mask) - (uint(half_exponent) << 24));
}

// sqrt x for a positive normal x.
CAMBRIAN_ELEMENTARY(sqrt_inside)(float x) {
    uint bits = float_to_bits(x);
    int half_exponent = (int((bits & magnitude_mask) >> 23) - 127) >> 1;
    CAMBRIAN_PRECISE float fraction = CAMBRIAN_CALL(even_fraction)(bits, half_exponent);
    CAMBRIAN_PRECISE float inverse = CAMBRIAN_CALL(fraction_rsqrt)(fraction);
    CAMBRIAN_PRECISE float root = fraction * inverse;
    CAMBRIAN_PRECISE float high = bits_to_float(float_to_bits(root) & 0xFFFFF000U);
    CAMBRIAN_PRECISE float low = root - high;
    CAMBRIAN_PRECISE float remainder_0 = CAMBRIAN_EXACT_SUM(-high, high, fraction);
    CAMBRIAN_PRECISE float remainder_1 = CAMBRIAN_EXACT_SUM(-2.0F * high, low, remainder_0);
    CAMBRIAN_PRECISE float remainder_2 = CAMBRIAN_EXACT_SUM(-low, low, remainder_1);
    CAMBRIAN_PRECISE float corrected = root + remainder_2 * (0.5F * inverse);
    return bits_to_float(float_to_bits(corrected) + (uint(half_exponent) << 23));
}

CAMBRIAN_ELEMENTARY(sqrt)(float x) {
    uint bits = float_to_bits(x);
    uint inside = float_to_bits(CAMBRIAN_CALL(sqrt_inside)(x));
    uint signed_zero = bits & sign_mask;
    uint finite = (bits & exponent_mask) == 0U ? signed_zero : inside;
    uint with_infinity = bits == exponent_mask ? exponent_mask : finite;
    uint of_negative = bits >= least_negative ? not_a_number_bits : with_infinity;
    return bits_to_float(bits - least_not_a_number < fraction_mask ? not_a_number_bits : of_negative);
}

// 1 / sqrt(x).
CAMBRIAN_ELEMENTARY(rsqrt)(float x) {
    uint bits = float_to_bits(x);
    int half_exponent = (int((bits & magnitude_mask) >> 23) - 127) >> 1;
    CAMBRIAN_PRECISE float fraction = CAMBRIAN_CALL(even_fraction)(bits, half_exponent);
    CAMBRIAN_PRECISE float inverse = CAMBRIAN_CALL(fraction_rsqrt)(fraction);
    CAMBRIAN_PRECISE float error = 0.5F - (0.5F * fraction * inverse) * inverse;
    CAMBRIAN_PRECISE float corrected = inverse + inverse * error;
    uint scaled = float_to_bits(corrected) - (uint(half_exponent) << 23);
    uint signed_infinity = (bits & sign_mask) | exponent_mask;
    uint finite = (bits & exponent_mask) == 0U ? signed_infinity : scaled;
    uint with_infinity = bits == exponent_mask ? 0U : finite;
    uint of_negative = bits >= least_negative ? not_a_number_bits : with_infinity;
    return bits_to_float(bits - least_not_a_number < fraction_mask ? not_a_number_bits : of_negative);
}

// (e^r - 1 - r) / (r r) for |r| <= 0.35.
CAMBRIAN_ELEMENTARY(exp_series)(float r) {
    CAMBRIAN_PRECISE float p_4 = 0.00836959109F + r * 0.0013951693F;
    CAMBRIAN_PRECISE float p_3 = 0.0416661873F + r * p_4;
    CAMBRIAN_PRECISE float p_2 = 0.166665137F + r * p_3;
    CAMBRIAN_PRECISE float p_1 = 0.5F + r * p_2;
    return p_1;
}

// e^(x - shift * ln 2) for an integer shift next to x / ln 2: between 0.7 and 1.42.
CAMBRIAN_ELEMENTARY(exp_fraction)(float x, float shift) {
    CAMBRIAN_PRECISE float r_0 = CAMBRIAN_EXACT_SUM(-ln_2_high, shift, x);
    CAMBRIAN_PRECISE float r = r_0 - shift * ln_2_low;
    CAMBRIAN_PRECISE float p_1 = CAMBRIAN_CALL(exp_series)(r);
    CAMBRIAN_PRECISE float above_one = r + (r * r) * p_1;
    CAMBRIAN_PRECISE float result = 1.0F + above_one;
    return result;
}

// e^x for -87 <= x <= 88, where the result is normal.
CAMBRIAN_ELEMENTARY(exp_inside)(float x) {
    CAMBRIAN_PRECISE float shifted = x * log2_e + rounding_shift;
    CAMBRIAN_PRECISE float shift = shifted - rounding_shift;
    CAMBRIAN_PRECISE float fraction = CAMBRIAN_CALL(exp_fraction)(x, shift);
    // The bits of the rounding shift leave the word.
    uint exponent = float_to_bits(shifted) << 23;
    return bits_to_float(float_to_bits(fraction) + exponent);
}

CAMBRIAN_ELEMENTARY(exp)(float x) {
    CAMBRIAN_PRECISE float above = x < -104.0F ? -104.0F : x;
    CAMBRIAN_PRECISE float inside = above > 90.0F ? 90.0F : above;
    CAMBRIAN_PRECISE float shifted = inside * log2_e + rounding_shift;
    CAMBRIAN_PRECISE float shift = shifted - rounding_shift;
    CAMBRIAN_PRECISE float fraction = CAMBRIAN_CALL(exp_fraction)(inside, shift);
    int exponent = int(float_to_bits(shifted) - rounding_shift_bits);
    CAMBRIAN_PRECISE float result = CAMBRIAN_CALL(scale_by_power)(fraction, exponent);
    uint result_bits = float_to_bits(result);
    uint magnitude_bits = float_to_bits(x) & magnitude_mask;
    return bits_to_float(magnitude_bits > exponent_mask ? not_a_number_bits : result_bits);
}

// The fraction of x in [sqrt(1/2), sqrt(2)): the carry of the addition selects the exponent, which
// is that of `moved`.
CAMBRIAN_ELEMENTARY(centred_fraction)(uint moved) {
    return bits_to_float((moved & fraction_mask) + sqrt_half_bits);
}

// (ln(1 + f) - f + f f / 2) / (f f f) for 1 + f between sqrt(1/2) and sqrt(2).
CAMBRIAN_ELEMENTARY(log_series)(float f) {
    CAMBRIAN_PRECISE float p_8 = -0.117908537F + f * 0.069152005F;
    CAMBRIAN_PRECISE float p_7 = 0.118735895F + f * p_8;
    CAMBRIAN_PRECISE float p_6 = -0.123842157F + f * p_7;
    CAMBRIAN_PRECISE float p_5 = 0.142185628F + f * p_6;
    CAMBRIAN_PRECISE float p_4 = -0.166692555F + f * p_5;
    CAMBRIAN_PRECISE float p_3 = 0.20002231F + f * p_4;
    CAMBRIAN_PRECISE float p_2 = -0.249999866F + f * p_3;
    CAMBRIAN_PRECISE float p_1 = 0.333333105F + f * p_2;
    return p_1;
}

// ln x for a positive normal x.
CAMBRIAN_ELEMENTARY(log_inside)(float x) {
    uint moved = float_to_bits(x) + (one_bits - sqrt_half_bits);
    CAMBRIAN_PRECISE float scale = float(int(moved >> 23) - 127);
    CAMBRIAN_PRECISE float f = CAMBRIAN_CALL(centred_fraction)(moved) - 1.0F;
    CAMBRIAN_PRECISE float p_1 = CAMBRIAN_CALL(log_series)(f);
    CAMBRIAN_PRECISE float square = f * f;
    CAMBRIAN_PRECISE float cubic = (square * f) * p_1 + scale * ln_2_low;
    CAMBRIAN_PRECISE float tail = cubic - 0.5F * square;
    CAMBRIAN_PRECISE float body = f + tail;
    CAMBRIAN_PRECISE float result = CAMBRIAN_EXACT_SUM(ln_2_high, scale, body);
    return result;
}

CAMBRIAN_ELEMENTARY(log)(float x) {
    uint bits = float_to_bits(x);
    uint minus_infinity = sign_mask | exponent_mask;
    uint inside = float_to_bits(CAMBRIAN_CALL(log_inside)(x));
    uint of_zero = (bits & exponent_mask) == 0U ? minus_infinity : inside;
    uint of_infinity = bits == exponent_mask ? exponent_mask : of_zero;
    uint of_negative = bits >= least_negative ? not_a_number_bits : of_infinity;
    return bits_to_float(bits - least_not_a_number < fraction_mask ? not_a_number_bits : of_negative);
}

// sin r for |r| <= pi / 4, z = r * r.
CAMBRIAN_ELEMENTARY(sin_inside)(float r, float z) {
    CAMBRIAN_PRECISE float s_2 = 0.00833332911F + z * (-0.000198393158F + z * 2.71812132e-6F);
    CAMBRIAN_PRECISE float s_1 = -0.166666672F + z * s_2;
    CAMBRIAN_PRECISE float sine = r + (z * r) * s_1;
    return sine;
}

// cos r for |r| <= pi / 4, z = r * r.
CAMBRIAN_ELEMENTARY(cos_inside)(float z) {
    CAMBRIAN_PRECISE float c_2 = -0.00138888834F + z * (2.47994994e-5F + z * -2.72084691e-7F);
    CAMBRIAN_PRECISE float c_1 = 0.0416666679F + z * c_2;
    CAMBRIAN_PRECISE float half_z = 0.5F * z;
    CAMBRIAN_PRECISE float near_one = 1.0F - half_z;
    CAMBRIAN_PRECISE float near_one_lost = (1.0F - near_one) - half_z;
    CAMBRIAN_PRECISE float cosine = near_one + (near_one_lost + (z * z) * c_1);
    return cosine;
}

// sin(x + quarter_turns * pi / 2). The argument is limited to +-8192 (largest_angle), beyond which a
// float no longer resolves the phase well; infinities give NaN.
CAMBRIAN_ELEMENTARY(sin_turned)(float x, uint quarter_turns) {
    CAMBRIAN_PRECISE float below = x > 8192.0F ? 8192.0F : x;
    CAMBRIAN_PRECISE float inside = below < -8192.0F ? -8192.0F : below;
    CAMBRIAN_PRECISE float shifted = inside * 0.636619747F + rounding_shift;
    CAMBRIAN_PRECISE float k = shifted - rounding_shift;
    uint quadrant = float_to_bits(shifted) - rounding_shift_bits + quarter_turns;
    // pi / 2 in parts of 11 bits, so that the products with k (13 bits) are exact.
    CAMBRIAN_PRECISE float r_0 = CAMBRIAN_EXACT_SUM(-1.5703125F, k, inside);
    CAMBRIAN_PRECISE float r_1 = CAMBRIAN_EXACT_SUM(-4.83751297e-4F, k, r_0);
    CAMBRIAN_PRECISE float third = k * 7.54953362e-8F;
    CAMBRIAN_PRECISE float r_2 = r_1 - third;
    CAMBRIAN_PRECISE float lost = (r_1 - r_2) - third;
    CAMBRIAN_PRECISE float rest_0 = lost - k * 2.563282919e-12F;
    CAMBRIAN_PRECISE float rest = rest_0 - k * 6.123233601e-17F;
    CAMBRIAN_PRECISE float r = r_2 + rest;
    CAMBRIAN_PRECISE float z = r * r;
    CAMBRIAN_PRECISE float sine = CAMBRIAN_CALL(sin_inside)(r, z);
    CAMBRIAN_PRECISE float cosine = CAMBRIAN_CALL(cos_inside)(z);
    uint sine_bits = float_to_bits(sine);
    uint cosine_bits = float_to_bits(cosine);
    uint chosen = (quadrant & 1U) == 0U ? sine_bits : cosine_bits;
    uint turned = chosen ^ ((quadrant & 2U) << 30);
    bool invalid = (float_to_bits(x) & magnitude_mask) >= exponent_mask;
    return bits_to_float(invalid ? not_a_number_bits : turned);
}

// sin(2 pi u + quarter_turns * pi / 2) for u in [0, 1): a point of the unit circle needs no reduction.
CAMBRIAN_ELEMENTARY(sin_of_turn)(float u, uint quarter_turns) {
    CAMBRIAN_PRECISE float quarters = 4.0F * u;
    CAMBRIAN_PRECISE float shifted = quarters + rounding_shift;
    CAMBRIAN_PRECISE float k = shifted - rounding_shift;
    uint quadrant = float_to_bits(shifted) - rounding_shift_bits + quarter_turns;
    CAMBRIAN_PRECISE float r = (quarters - k) * 1.57079637F;
    CAMBRIAN_PRECISE float z = r * r;
    uint sine = float_to_bits(CAMBRIAN_CALL(sin_inside)(r, z));
    uint cosine = float_to_bits(CAMBRIAN_CALL(cos_inside)(z));
    uint chosen = (quadrant & 1U) == 0U ? sine : cosine;
    return bits_to_float(chosen ^ ((quadrant & 2U) << 30));
}

CAMBRIAN_ELEMENTARY(sin)(float x) {
    uint bits = float_to_bits(x);
    uint sine = float_to_bits(CAMBRIAN_CALL(sin_turned)(x, 0U));
    // Small arguments are their own sine; this also keeps the sign of zero.
    uint signed_zero = bits & sign_mask;
    uint small = (bits & exponent_mask) == 0U ? signed_zero : bits;
    return bits_to_float((bits & magnitude_mask) < 0x39000000U ? small : sine);
}

CAMBRIAN_ELEMENTARY(cos)(float x) {
    uint bits = float_to_bits(x);
    CAMBRIAN_PRECISE float used = (bits & exponent_mask) == 0U ? 0.0F : x;
    return CAMBRIAN_CALL(sin_turned)(used, 1U);
}

// 1 / x for positive x far from the ends of the range, by three Newton steps.
CAMBRIAN_ELEMENTARY(reciprocal_inside)(float x) {
    CAMBRIAN_PRECISE float guess = bits_to_float(0x7EF311C7U - float_to_bits(x));
    CAMBRIAN_PRECISE float once = guess * (2.0F - x * guess);
    CAMBRIAN_PRECISE float twice = once * (2.0F - x * once);
    CAMBRIAN_PRECISE float thrice = twice + twice * (1.0F - x * twice);
    return thrice;
}

CAMBRIAN_ELEMENTARY(tanh)(float x) {
    uint bits = float_to_bits(x);
    uint magnitude_bits = bits & magnitude_mask;
    // Up to 9.5, beyond which the result is 1; one comparison of positive numbers by their bits.
    uint limited_bits = magnitude_bits < 0x41180000U ? magnitude_bits : 0x41180000U;
    CAMBRIAN_PRECISE float limited = bits_to_float(limited_bits);
    CAMBRIAN_PRECISE float power = CAMBRIAN_CALL(exp_inside)(2.0F * limited);
    CAMBRIAN_PRECISE float inverse = CAMBRIAN_CALL(reciprocal_inside)(1.0F + power);
    CAMBRIAN_PRECISE float far = CAMBRIAN_EXACT_SUM(-2.0F, inverse, 1.0F);
    CAMBRIAN_PRECISE float z = limited * limited;
    CAMBRIAN_PRECISE float p_4 = 0.0217025522F + z * (-0.00818160549F + z * 0.00214652368F);
    CAMBRIAN_PRECISE float p_2 = 0.133332089F + z * (-0.0539471321F + z * p_4);
    CAMBRIAN_PRECISE float p_1 = -0.333333313F + z * p_2;
    CAMBRIAN_PRECISE float near = limited + (limited * z) * p_1;
    uint near_bits = float_to_bits(near);
    uint far_bits = float_to_bits(far);
    uint chosen = limited_bits < 0x3F200000U ? near_bits : far_bits;
    uint value = magnitude_bits < 0x00800000U ? 0U : chosen;
    uint with_sign = value | (bits & sign_mask);
    return bits_to_float(magnitude_bits > exponent_mask ? not_a_number_bits : with_sign);
}

// 1 / (1 + e^-x).
CAMBRIAN_ELEMENTARY(sigmoid)(float x) {
    uint bits = float_to_bits(x);
    uint magnitude_bits = bits & magnitude_mask;
    CAMBRIAN_PRECISE float power = CAMBRIAN_CALL(exp)(-bits_to_float(magnitude_bits));
    CAMBRIAN_PRECISE float sum = 1.0F + power;
    CAMBRIAN_PRECISE float lost = power - (sum - 1.0F);
    CAMBRIAN_PRECISE float inverse = CAMBRIAN_CALL(reciprocal_inside)(sum);
    CAMBRIAN_PRECISE float inverse_high = bits_to_float(float_to_bits(inverse) & 0xFFFFF000U);
    CAMBRIAN_PRECISE float inverse_low = inverse - inverse_high;
    CAMBRIAN_PRECISE float sum_high = bits_to_float(float_to_bits(sum) & 0xFFFFF000U);
    CAMBRIAN_PRECISE float sum_low = sum - sum_high;
    CAMBRIAN_PRECISE float error_0 = CAMBRIAN_EXACT_SUM(-inverse_high, sum_high, 1.0F);
    CAMBRIAN_PRECISE float error_1 = CAMBRIAN_EXACT_SUM(-inverse_high, sum_low, error_0);
    CAMBRIAN_PRECISE float error_2 = CAMBRIAN_EXACT_SUM(-inverse_low, sum_high, error_1);
    CAMBRIAN_PRECISE float error_3 = CAMBRIAN_EXACT_SUM(-inverse_low, sum_low, error_2);
    CAMBRIAN_PRECISE float error_4 = error_3 - inverse * lost;
    CAMBRIAN_PRECISE float corrected = inverse + inverse * error_4;
    CAMBRIAN_PRECISE float small = power * corrected;
    CAMBRIAN_PRECISE float large = 1.0F - corrected;
    CAMBRIAN_PRECISE float below_half = power < 0.5F ? small : large;
    CAMBRIAN_PRECISE float result = (bits & sign_mask) != 0U ? below_half : corrected;
    uint value = float_to_bits(result);
    return bits_to_float(magnitude_bits > exponent_mask ? not_a_number_bits : value);
}

// 2 / sqrt(pi) times the integral of e^(-t t) from 0 to x.
CAMBRIAN_ELEMENTARY(erf)(float x) {
    uint bits = float_to_bits(x);
    uint magnitude_bits = bits & magnitude_mask;
    CAMBRIAN_PRECISE float magnitude = bits_to_float(magnitude_bits);
    CAMBRIAN_PRECISE float a = magnitude > 4.0F ? 4.0F : magnitude;
    CAMBRIAN_PRECISE float z = a * a;
    CAMBRIAN_PRECISE float p_4 = 0.00518953474F + z * (-0.000802083639F + z * 7.88910256e-5F);
    CAMBRIAN_PRECISE float p_2 = 0.112836003F + z * (-0.0268544443F + z * p_4);
    CAMBRIAN_PRECISE float p_1 = 0.128379166F + z * (-0.37612626F + z * p_2);
    CAMBRIAN_PRECISE float near = a + a * p_1;
    CAMBRIAN_PRECISE float q_5 = -0.00420530001F + a * (0.000441475946F + a * -2.16979079e-5F);
    CAMBRIAN_PRECISE float q_3 = -0.108422153F + a * (0.0252103768F + a * q_5);
    CAMBRIAN_PRECISE float q_1 = -1.12958038F + a * (-0.633216381F + a * q_3);
    CAMBRIAN_PRECISE float far = 1.0F - CAMBRIAN_CALL(exp_inside)(0.000188470425F + a * q_1);
    CAMBRIAN_PRECISE float chosen = a < 1.0F ? near : far;
    uint chosen_bits = float_to_bits(chosen);
    uint value = (bits & exponent_mask) == 0U ? 0U : chosen_bits;
    uint with_sign = value | (bits & sign_mask);
    return bits_to_float(magnitude_bits > exponent_mask ? not_a_number_bits : with_sign);
}

// ln(1 + x). What the sum 1 + x lost is added to its logarithm; near 0 it is not formed at all.
CAMBRIAN_ELEMENTARY(log1p)(float x) {
    uint bits = float_to_bits(x);
    CAMBRIAN_PRECISE float sum = 1.0F + x;
    CAMBRIAN_PRECISE float lost_of_one = 1.0F - (sum - x);
    CAMBRIAN_PRECISE float lost_of_x = x - (sum - 1.0F);
    CAMBRIAN_PRECISE float lost = x > 1.0F ? lost_of_one : lost_of_x;
    CAMBRIAN_PRECISE float divisor = sum > 1.0e9F ? 1.0e9F : sum;
    uint moved = float_to_bits(sum) + (one_bits - sqrt_half_bits);
    CAMBRIAN_PRECISE float far_fraction = CAMBRIAN_CALL(centred_fraction)(moved) - 1.0F;
    CAMBRIAN_PRECISE float far_scale = float(int(moved >> 23) - 127);
    CAMBRIAN_PRECISE float far_rest = lost * CAMBRIAN_CALL(reciprocal_inside)(divisor);
    uint is_near = (x > -0.29F ? 1U : 0U) & (x < 0.41F ? 1U : 0U);
    CAMBRIAN_PRECISE float f = is_near != 0U ? x : far_fraction;
    CAMBRIAN_PRECISE float scale = is_near != 0U ? 0.0F : far_scale;
    CAMBRIAN_PRECISE float rest = is_near != 0U ? 0.0F : far_rest;
    CAMBRIAN_PRECISE float p_1 = CAMBRIAN_CALL(log_series)(f);
    CAMBRIAN_PRECISE float square = f * f;
    CAMBRIAN_PRECISE float cubic = (square * f) * p_1 + (scale * ln_2_low + rest);
    CAMBRIAN_PRECISE float tail = cubic - 0.5F * square;
    CAMBRIAN_PRECISE float body = f + tail;
    CAMBRIAN_PRECISE float result = CAMBRIAN_EXACT_SUM(ln_2_high, scale, body);
    // Small arguments are their own result; this also keeps the sign of zero.
    uint signed_zero = bits & sign_mask;
    uint small = (bits & exponent_mask) == 0U ? signed_zero : bits;
    uint inside = float_to_bits(result);
    uint finite = (bits & magnitude_mask) < 0x33000000U ? small : inside;
    uint minus_one = sign_mask | one_bits;
    uint with_pole = bits == minus_one ? sign_mask | exponent_mask : finite;
    uint with_infinity = bits == exponent_mask ? exponent_mask : with_pole;
    uint of_less = bits > minus_one ? not_a_number_bits : with_infinity;
    return bits_to_float(bits - least_not_a_number < fraction_mask ? not_a_number_bits : of_less);
}

// e^x - 1 as 2 (2^(k-1) (1 + r + ..) - 1/2), all but the rest of order r r added without loss.
CAMBRIAN_ELEMENTARY(expm1)(float x) {
    uint bits = float_to_bits(x);
    CAMBRIAN_PRECISE float above = x < -20.0F ? -20.0F : x;
    CAMBRIAN_PRECISE float inside = above > 89.0F ? 89.0F : above;
    CAMBRIAN_PRECISE float shifted = inside * log2_e + rounding_shift;
    CAMBRIAN_PRECISE float shift = shifted - rounding_shift;
    CAMBRIAN_PRECISE float r_0 = inside - shift * ln_2_high;
    CAMBRIAN_PRECISE float shift_low = shift * ln_2_low;
    CAMBRIAN_PRECISE float r = r_0 - shift_low;
    CAMBRIAN_PRECISE float r_lost = (r_0 - r) - shift_low;
    CAMBRIAN_PRECISE float series = CAMBRIAN_CALL(exp_series)(r);
    CAMBRIAN_PRECISE float rest = (r * r) * series + (r_lost + r_lost * r);
    uint exponent = (float_to_bits(shifted) - rounding_shift_bits - 1U) << 23;
    CAMBRIAN_PRECISE float half_power = bits_to_float(one_bits + exponent);
    CAMBRIAN_PRECISE float whole = half_power - 0.5F;
    CAMBRIAN_PRECISE float part = half_power * r;
    CAMBRIAN_PRECISE float sum = whole + part;
    CAMBRIAN_PRECISE float whole_of_sum = sum - part;
    CAMBRIAN_PRECISE float sum_lost = (whole - whole_of_sum) + (part - (sum - whole_of_sum));
    CAMBRIAN_PRECISE float half_result = sum + (sum_lost + half_power * rest);
    CAMBRIAN_PRECISE float result = 2.0F * half_result;
    // Small arguments are their own result; this also keeps the sign of zero.
    uint signed_zero = bits & sign_mask;
    uint small = (bits & exponent_mask) == 0U ? signed_zero : bits;
    uint magnitude_bits = bits & magnitude_mask;
    uint result_bits = float_to_bits(result);
    uint value = magnitude_bits < 0x33000000U ? small : result_bits;
    return bits_to_float(magnitude_bits > exponent_mask ? not_a_number_bits : value);
}

// The rest of the product a b after its rounding to `product`.
CAMBRIAN_ELEMENTARY(product_lost)(float a, float b, float product) {
    CAMBRIAN_PRECISE float a_high = bits_to_float(float_to_bits(a) & 0xFFFFF000U);
    CAMBRIAN_PRECISE float a_low = a - a_high;
    CAMBRIAN_PRECISE float b_high = bits_to_float(float_to_bits(b) & 0xFFFFF000U);
    CAMBRIAN_PRECISE float b_low = b - b_high;
    CAMBRIAN_PRECISE float lost_0 = a_high * b_high - product;
    CAMBRIAN_PRECISE float lost_1 = lost_0 + a_high * b_low;
    CAMBRIAN_PRECISE float lost_2 = lost_1 + a_low * b_high;
    CAMBRIAN_PRECISE float lost_3 = lost_2 + a_low * b_low;
    return lost_3;
}

// x^y for a positive normal x and a finite y, as e^(y ln x) with ln x and its product with y in two
// floats each: ln x = k ln 2 + ln c + 2 artanh s with s = (m - c) / (m + c), for the fraction m and
// the nearest of three centres c.
CAMBRIAN_ELEMENTARY(pow_inside)(float x, float y) {
    uint moved = float_to_bits(x) + (one_bits - sqrt_half_bits);
    CAMBRIAN_PRECISE float scale = float(int(moved >> 23) - 127);
    CAMBRIAN_PRECISE float fraction = CAMBRIAN_CALL(centred_fraction)(moved);
    uint low = fraction < 0.891F ? 1U : 0U;
    uint high = fraction > 1.1224F ? 1U : 0U;
    CAMBRIAN_PRECISE float centre_0 = low != 0U ? 0.796875F : 1.0F;
    CAMBRIAN_PRECISE float centre = high != 0U ? 1.265625F : centre_0;
    CAMBRIAN_PRECISE float log_centre_0 = low != 0U ? -0.227050781F : 0.0F;
    CAMBRIAN_PRECISE float log_centre = high != 0U ? 0.235565186F : log_centre_0;
    CAMBRIAN_PRECISE float log_centre_low_0 = low != 0U ? -6.66938535e-06F : 0.0F;
    CAMBRIAN_PRECISE float log_centre_low = high != 0U ? 8.85765892e-07F : log_centre_low_0;
    CAMBRIAN_PRECISE float distance = fraction - centre;
    CAMBRIAN_PRECISE float divisor = fraction + centre;
    CAMBRIAN_PRECISE float divisor_lost = fraction - (divisor - centre);
    CAMBRIAN_PRECISE float inverse = CAMBRIAN_CALL(reciprocal_inside)(divisor);
    CAMBRIAN_PRECISE float s = distance * inverse;
    CAMBRIAN_PRECISE float product = s * divisor;
    CAMBRIAN_PRECISE float product_rest = CAMBRIAN_CALL(product_lost)(s, divisor, product);
    CAMBRIAN_PRECISE float remainder = ((distance - product) - product_rest) - s * divisor_lost;
    CAMBRIAN_PRECISE float s_low = remainder * inverse;
    CAMBRIAN_PRECISE float z = s * s;
    CAMBRIAN_PRECISE float series = z * (0.333333343F + z * (0.2F + z * 0.142857149F));
    CAMBRIAN_PRECISE float constants_low = scale * ln_2_low + log_centre_low;
    CAMBRIAN_PRECISE float log_rest = 2.0F * (s_low + s * series) + constants_low;
    CAMBRIAN_PRECISE float constants = scale * ln_2_high + log_centre;
    CAMBRIAN_PRECISE float log_sum = constants + 2.0F * s;
    CAMBRIAN_PRECISE float log_lost = (constants - log_sum) + 2.0F * s;
    CAMBRIAN_PRECISE float log_tail = log_lost + log_rest;
    CAMBRIAN_PRECISE float log_high = log_sum + log_tail;
    CAMBRIAN_PRECISE float log_low = (log_sum - log_high) + log_tail;
    // Beyond 2^33 every power of another number than 1 is zero or infinite.
    CAMBRIAN_PRECISE float y_below = y > 8589934592.0F ? 8589934592.0F : y;
    CAMBRIAN_PRECISE float power = y_below < -8589934592.0F ? -8589934592.0F : y_below;
    CAMBRIAN_PRECISE float argument = power * log_high;
    CAMBRIAN_PRECISE float argument_lost = CAMBRIAN_CALL(product_lost)(power, log_high, argument);
    CAMBRIAN_PRECISE float argument_rest = argument_lost + power * log_low;
    CAMBRIAN_PRECISE float above = argument < -104.0F ? -104.0F : argument;
    CAMBRIAN_PRECISE float inside = above > 90.0F ? 90.0F : above;
    CAMBRIAN_PRECISE float rest = inside == argument ? argument_rest : 0.0F;
    CAMBRIAN_PRECISE float shifted = inside * log2_e + rounding_shift;
    CAMBRIAN_PRECISE float shift = shifted - rounding_shift;
    CAMBRIAN_PRECISE float power_of_e = CAMBRIAN_CALL(exp_fraction)(inside, shift);
    CAMBRIAN_PRECISE float corrected = power_of_e + power_of_e * rest;
    int exponent = int(float_to_bits(shifted) - rounding_shift_bits);
    return CAMBRIAN_CALL(scale_by_power)(corrected, exponent);
}

// x^y with the special values of C's pow.
CAMBRIAN_ELEMENTARY(pow)(float x, float y) {
    uint x_bits = float_to_bits(x);
    uint y_bits = float_to_bits(y);
    uint x_magnitude = x_bits & magnitude_mask;
    uint y_magnitude = y_bits & magnitude_mask;
    uint x_field = x_bits & exponent_mask;
    CAMBRIAN_PRECISE float base = bits_to_float(x_magnitude);
    uint inside = float_to_bits(CAMBRIAN_CALL(pow_inside)(base, y));
    // A base of zero or infinity gives one of the two.
    uint grows = (x_field == 0U ? 0U : 1U) ^ (y_bits >> 31);
    uint of_extreme = grows != 0U ? exponent_mask : 0U;
    uint extreme = (x_field == 0U ? 1U : 0U) | (x_field == exponent_mask ? 1U : 0U);
    uint magnitude = extreme != 0U ? of_extreme : inside;
    // Bits of y below its unit: none in an integer; the bit of the unit is that of an odd one.
    int places = 150 - int(y_magnitude >> 23);
    int places_below = places > 24 ? 24 : places;
    uint unit = 1U << uint(places_below < 0 ? 0 : places_below);
    uint y_fraction = (y_bits & fraction_mask) | (fraction_mask + 1U);
    uint fractional = (y_fraction & (unit - 1U)) != 0U ? 1U : 0U;
    uint beyond = places < 0 ? 1U : 0U;
    uint odd_unit = (y_fraction & unit) != 0U ? 1U : 0U;
    uint odd = odd_unit & (1U - fractional) & (1U - beyond);
    uint with_sign = odd != 0U ? magnitude | (x_bits & sign_mask) : magnitude;
    uint negative = (x_bits >> 31) & (1U - extreme);
    uint invalid = (negative & fractional & (1U - beyond)) | (x_magnitude > exponent_mask ? 1U : 0U) |
                   (y_magnitude > exponent_mask ? 1U : 0U);
    uint checked = invalid != 0U ? not_a_number_bits : with_sign;
    uint one = (x_bits == one_bits ? 1U : 0U) | ((y_bits & exponent_mask) == 0U ? 1U : 0U);
    return bits_to_float(one != 0U ? one_bits : checked);
}

// The number below which a standard normal falls with the probability u + 2^-25, for a multiple u of
// 2^-24 in [0, 1): within 5.42 of 0. sqrt(2) times the inverse of erf at x = 2 u + 2^-24 - 1, by
// the polynomials in w = -ln(1 - x x) of Giles, "Approximating the erfinv function", 2010.
CAMBRIAN_ELEMENTARY(normal_quantile)(float u) {
    CAMBRIAN_PRECISE float centred = 2.0F * u - 1.0F;
    CAMBRIAN_PRECISE float x = centred + 5.96046448e-08F;
    CAMBRIAN_PRECISE float below = 1.0F - x;
    CAMBRIAN_PRECISE float above = 1.0F + x;
    CAMBRIAN_PRECISE float rest = below * above;
    CAMBRIAN_PRECISE float w = 0.0F - CAMBRIAN_CALL(log_inside)(rest);
    CAMBRIAN_PRECISE float a = w - 2.5F;
    CAMBRIAN_PRECISE float a_7 = 3.43273939e-07F + a * 2.81022636e-08F;
    CAMBRIAN_PRECISE float a_6 = -3.5233877e-06F + a * a_7;
    CAMBRIAN_PRECISE float a_5 = -4.39150654e-06F + a * a_6;
    CAMBRIAN_PRECISE float a_4 = 0.00021858087F + a * a_5;
    CAMBRIAN_PRECISE float a_3 = -0.00125372503F + a * a_4;
    CAMBRIAN_PRECISE float a_2 = -0.00417768164F + a * a_3;
    CAMBRIAN_PRECISE float a_1 = 0.246640727F + a * a_2;
    CAMBRIAN_PRECISE float inner = 1.50140941F + a * a_1;
    CAMBRIAN_PRECISE float b = CAMBRIAN_CALL(sqrt)(w) - 3.0F;
    CAMBRIAN_PRECISE float b_7 = 0.000100950558F + b * -0.000200214257F;
    CAMBRIAN_PRECISE float b_6 = 0.00134934322F + b * b_7;
    CAMBRIAN_PRECISE float b_5 = -0.00367342844F + b * b_6;
    CAMBRIAN_PRECISE float b_4 = 0.00573950773F + b * b_5;
    CAMBRIAN_PRECISE float b_3 = -0.0076224613F + b * b_4;
    CAMBRIAN_PRECISE float b_2 = 0.00943887047F + b * b_3;
    CAMBRIAN_PRECISE float b_1 = 1.00167406F + b * b_2;
    CAMBRIAN_PRECISE float outer = 2.83297682F + b * b_1;
    CAMBRIAN_PRECISE float slope = w < 5.0F ? inner : outer;
    CAMBRIAN_PRECISE float scaled = slope * x;
    CAMBRIAN_PRECISE float result = 1.41421354F * scaled;
    return result;
}
