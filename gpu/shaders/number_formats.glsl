// The codes of engine/core/number_formats.inl, and the format by its number. Needs elementary.glsl.
#define CAMBRIAN_CODEC(type, name) type name
#define CAMBRIAN_PRECISE precise
#define float_to_bits floatBitsToUint
#define bits_to_float uintBitsToFloat

#include "cambrian/engine/core/number_formats.inl"

#undef CAMBRIAN_CODEC
#undef CAMBRIAN_PRECISE
#undef float_to_bits
#undef bits_to_float

#define CAMBRIAN_FORMAT_BITS(number, name, bits) if (format == number) return bits;
uint bits_of_code(uint format) {
    CAMBRIAN_NUMBER_FORMATS(CAMBRIAN_FORMAT_BITS)
    return 32U;
}

#define CAMBRIAN_FORMAT_ENCODE(number, name, bits) if (format == number) return encode_##name(x);
uint encode_number(uint format, float x) {
    CAMBRIAN_NUMBER_FORMATS(CAMBRIAN_FORMAT_ENCODE)
    return 0U;
}

#define CAMBRIAN_FORMAT_DECODE(number, name, bits) if (format == number) return decode_##name(code);
float decode_number(uint format, uint code) {
    CAMBRIAN_NUMBER_FORMATS(CAMBRIAN_FORMAT_DECODE)
    return 0.0;
}
