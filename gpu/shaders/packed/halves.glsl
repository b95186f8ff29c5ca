// Small floats as halves of words, which devices unpack two at a time: their bits where a half has them, times a power
// of two. Subnormal codes are subnormal halves, so the includer says whether the device keeps these:
//   with_halves  1: it does
// Needs packed.glsl and ops.glsl.

bool as_halves() {
    if (with_halves == 0U) return false;
    return packed_kind == packed_f16 || packed_kind == packed_f8_e4m3 || packed_kind == packed_f8_e5m2 ||
           packed_kind == packed_f4_e2m1;
}
// What the halves are multiplied with: by how much the bias of a half is larger.
float half_unit() {
    if (packed_kind == packed_f8_e4m3) return 256.0F;
    return packed_kind == packed_f4_e2m1 ? 16384.0F : 1.0F;
}
// A scale times that unit is exact below it.
const uint max_half_scale_bits = (127U + 100U) << 23U;

// Two codes of 8 bits in the upper bytes of both halves of a word, as halves.
uint half_bits(uint codes) {
    if (packed_kind == packed_f8_e5m2) return codes & 0xFF00FF00U;
    return (codes >> 1U & 0x3F803F80U) | (codes & 0x80008000U);
}

// Numbers of four codes in units of half_unit: those of two words of 16 bits, of a word of 8, of half a word of 4.
vec4 quad_by_halves(uvec2 from, uint which_half) {
    if (packed_bits == 16U) return vec4(unpackHalf2x16(from.x), unpackHalf2x16(from.y));
    if (packed_bits == 8U) {
        vec2 even = unpackHalf2x16(half_bits(from.x << 8U));
        vec2 odd = unpackHalf2x16(half_bits(from.x));
        return vec4(even.x, odd.x, even.y, odd.y);
    }
    // Codes i and i + 4 are a pair.
    vec4 numbers;
    [[unroll]] for (uint i = 0U; i < 4U; ++i) {
        uint magnitude = i < 3U ? from.x << (9U - 4U * i) : from.x >> 3U;
        uint sign = from.x << (12U - 4U * i);
        vec2 pair = unpackHalf2x16((magnitude & 0x0E000E00U) | (sign & 0x80008000U));
        numbers[i] = which_half == 0U ? pair.x : pair.y;
    }
    return numbers;
}
