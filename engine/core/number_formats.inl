// Codes of the formats that numbers are stored in, by bit operations: one text for C++ and GLSL. The
// includer defines
//   CAMBRIAN_CODEC(type, name)  declares a function of that name
//   uint, float_to_bits, bits_to_float and the constants of elementary.inl
// A number goes to the nearest of its format, ties to the even code, subnormal ones included. What
// lies beyond the largest becomes the largest; an infinity stays one, but f8_e4m3 has none and limits
// it too (the saturated conversion of the OCP 8-bit floating point specification 1.0 where that
// hides no infinity). Every NaN gets one positive code, and codes of NaN give one NaN. i8 rounds and
// limits to +-127; its NaN is 0.

// All formats: row(number, name, bits of a code).
#define CAMBRIAN_NUMBER_FORMATS(row) \
    row(0U, f16, 16U)                \
    row(1U, bf16, 16U)               \
    row(2U, f8_e4m3, 8U)             \
    row(3U, f8_e5m2, 8U)             \
    row(4U, i8, 8U)                  \
    row(5U, f4_e2m1, 4U)

// value / 2^places to the nearest integer, ties to even, for value < 2^24 and places from 1 to 26.
CAMBRIAN_CODEC(uint, rounded_quotient)(uint value, uint places) {
    uint odd = (value >> places) & 1U;
    return (value + (1U << (places - 1U)) - 1U + odd) >> places;
}

// The code of x in a format with a sign, an exponent of some bias and a fraction.
CAMBRIAN_CODEC(uint, encode_small_float)(float x, int bias, int fraction_bits, uint sign,
                                         uint largest, uint infinity, uint not_a_number) {
    uint bits = float_to_bits(x);
    uint magnitude = bits & magnitude_mask;
    int x_field = int(magnitude >> 23);
    uint unit = x_field == 0 ? 0U : fraction_mask + 1U;
    uint fraction = (magnitude & fraction_mask) | unit;
    int field = (x_field == 0 ? 1 : x_field) - 127 + bias;
    // Below the least exponent the fraction moves down: a subnormal code.
    int below = field < 1 ? 1 - field : 0;
    int places = 23 - fraction_bits + below;
    uint exponent = uint(field < 1 ? 0 : field - 1) << uint(fraction_bits);
    // The unit of the fraction counts the exponent up by one, and so does a carry.
    uint code = exponent + rounded_quotient(fraction, uint(places > 26 ? 26 : places));
    uint limit = magnitude == exponent_mask ? infinity : largest;
    uint limited = code > largest ? limit : code;
    uint with_sign = (bits >> 31) != 0U ? limited | sign : limited;
    return magnitude > exponent_mask ? not_a_number : with_sign;
}

// The number of a code; `infinity` is that of the positive one, or `sign` where there is none. With the exponent of
// the format's own bias a subnormal reads as t = 2^-bias (1 + f), where 2^(1 - bias) f is meant: 2 t - 2^(1 - bias),
// which of any other number is no less than t. So a minimum decodes both, without subnormals of float32.
CAMBRIAN_CODEC(float, decode_small_float)(uint code, int bias, int fraction_bits, uint sign,
                                          uint largest, uint infinity) {
    uint magnitude = code & (sign - 1U);
    uint field = (magnitude << uint(23 - fraction_bits)) + (uint(127 - bias) << 23);
    float read = bits_to_float(field);
    CAMBRIAN_PRECISE float twice = read + read;
    CAMBRIAN_PRECISE float subnormal = twice - bits_to_float(uint(128 - bias) << 23);
    uint finite = float_to_bits(subnormal < read ? subnormal : read);
    uint number = magnitude == infinity ? exponent_mask : finite;
    uint with_sign = (code & sign) != 0U ? number | sign_mask : number;
    bool invalid = magnitude > largest && magnitude != infinity;
    return bits_to_float(invalid ? not_a_number_bits : with_sign);
}

// IEEE 754 binary16.
CAMBRIAN_CODEC(uint, encode_f16)(float x) {
    return encode_small_float(x, 15, 10, 0x8000U, 0x7BFFU, 0x7C00U, 0x7E00U);
}
CAMBRIAN_CODEC(float, decode_f16)(uint code) {
    return decode_small_float(code, 15, 10, 0x8000U, 0x7BFFU, 0x7C00U);
}

// The upper half of binary32.
CAMBRIAN_CODEC(uint, encode_bf16)(float x) {
    return encode_small_float(x, 127, 7, 0x8000U, 0x7F7FU, 0x7F80U, 0x7FC0U);
}
CAMBRIAN_CODEC(float, decode_bf16)(uint code) {
    return bits_to_float((code & 0x7FFFU) > 0x7F80U ? not_a_number_bits : code << 16);
}

CAMBRIAN_CODEC(uint, encode_f8_e4m3)(float x) {
    return encode_small_float(x, 7, 3, 0x80U, 0x7EU, 0x7EU, 0x7FU);
}
CAMBRIAN_CODEC(float, decode_f8_e4m3)(uint code) {
    return decode_small_float(code, 7, 3, 0x80U, 0x7EU, 0x80U);
}

CAMBRIAN_CODEC(uint, encode_f8_e5m2)(float x) {
    return encode_small_float(x, 15, 2, 0x80U, 0x7BU, 0x7CU, 0x7EU);
}
CAMBRIAN_CODEC(float, decode_f8_e5m2)(uint code) {
    return decode_small_float(code, 15, 2, 0x80U, 0x7BU, 0x7CU);
}

// 0, 0.5, 1, 1.5, 2, 3, 4 and 6 with signs: no infinity, no NaN, which becomes 0.
CAMBRIAN_CODEC(uint, encode_f4_e2m1)(float x) {
    return encode_small_float(x, 1, 1, 0x8U, 0x7U, 0x7U, 0x0U);
}
CAMBRIAN_CODEC(float, decode_f4_e2m1)(uint code) {
    return decode_small_float(code, 1, 1, 0x8U, 0x7U, 0x8U);
}

CAMBRIAN_CODEC(uint, encode_i8)(float x) {
    CAMBRIAN_PRECISE float below = x > 127.0F ? 127.0F : x;
    CAMBRIAN_PRECISE float inside = below < -127.0F ? -127.0F : below;
    CAMBRIAN_PRECISE float shifted = inside + rounding_shift;
    uint code = (float_to_bits(shifted) - rounding_shift_bits) & 0xFFU;
    return (float_to_bits(x) & magnitude_mask) > exponent_mask ? 0U : code;
}
CAMBRIAN_CODEC(float, decode_i8)(uint code) {
    return float(int(code << 24) >> 24);
}
