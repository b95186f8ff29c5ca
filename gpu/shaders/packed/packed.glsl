// Rows of numbers in the codes of a format of weights (engine/graph/packed_rows.hpp). The includer has the constants
//   packed_kind   what a code stands for, below
//   packed_bits   of a code
//   packed_group  numbers of a row that share a scale: packed_unscaled, packed_row or packed_block
// Needs prelude.glsl, elementary.glsl, ops.glsl and number_formats.glsl. As in gpu/kernels/matmul/packed_format.hpp.

const uint packed_f16 = 0U;
const uint packed_bf16 = 1U;
const uint packed_f8_e4m3 = 2U;
const uint packed_f8_e5m2 = 3U;
const uint packed_f4_e2m1 = 4U;
const uint packed_two_complement = 5U;
const uint packed_natural = 6U;  // Above a zero point.
const uint packed_sign = 7U;
const uint packed_offset = 8U;   // Above -8.
const uint packed_f32 = 9U;      // Numbers as they are.

const uint packed_unscaled = 0U;
const uint packed_row = 1U;
const uint packed_block = 2U;

const uint packed_in_word = 32U / packed_bits;

// What the codes of a group mean.
struct PackedScaling {
    float scale;
    float zero_point;  // A code.
};

// Rows of so many numbers, and where their parts lie.
struct PackedRows {
    uint64_t words;
    uint64_t scales;
    uint64_t zero_points;
    uint columns;
};

uint packed_row_words(PackedRows rows) {
    return (rows.columns + packed_in_word - 1U) / packed_in_word;
}

PackedScaling packed_scaling(PackedRows rows, uint row, uint column) {
    PackedScaling scaling = PackedScaling(1.0F, 0.0F);
    if (packed_group == packed_unscaled) return scaling;
    uint groups = packed_group == packed_block ? (rows.columns + 31U) / 32U : 1U;
    uint index = packed_group == packed_block ? column / 32U : 0U;
    scaling.scale = Reals(rows.scales).at[row * groups + index];
    if (packed_kind == packed_natural) {
        uint words = (groups + packed_in_word - 1U) / packed_in_word;
        uint word = Words(rows.zero_points).at[row * words + index / packed_in_word];
        scaling.zero_point = float((word >> index % packed_in_word * packed_bits) & ((1U << packed_bits) - 1U));
    }
    return scaling;
}

// Code `i` of a word as a whole number, exactly: its bits where they lie become the low ones of a float whose last
// bit is worth 1, because devices shift words and convert them at a fraction of the rate that they add at.
float packed_whole(uint word, uint i, float zero_point) {
    uint at = i * packed_bits;
    uint here = at < 16U ? word : word >> 16U;
    uint place = at % 16U;
    uint mask = ((1U << packed_bits) - 1U) << place;
    uint unit = (150U - place) << 23U;  // 2^(23 - place).
    uint sign = packed_kind == packed_two_complement ? 1U << (packed_bits - 1U) : 0U;
    float below = packed_kind == packed_natural ? zero_point : packed_kind == packed_offset ? 8.0F : float(sign);
    float number = op_sub(uintBitsToFloat((here & mask) ^ (unit | sign << place)), op_add(uintBitsToFloat(unit), below));
    if (packed_kind == packed_sign) return op_sub(1.0F, op_add(number, number));
    return number;
}

// Code `i` of a word as a number.
float packed_value(uint word, uint i, PackedScaling scaling) {
    if (packed_kind == packed_f32) return uintBitsToFloat(word);
    float number;
    uint code = (word >> (i * packed_bits)) & ((1U << packed_bits) - 1U);
    if (packed_kind == packed_f16) number = decode_f16(code);
    else if (packed_kind == packed_bf16) number = decode_bf16(code);
    else if (packed_kind == packed_f8_e4m3) number = decode_f8_e4m3(code);
    else if (packed_kind == packed_f8_e5m2) number = decode_f8_e5m2(code);
    else if (packed_kind == packed_f4_e2m1) number = decode_f4_e2m1(code);
    else number = packed_whole(word, i, scaling.zero_point);
    return packed_group == packed_unscaled ? number : op_mul(number, scaling.scale);
}

// Four neighbours of a row from the low bits of a word on, or of two of 16-bit codes.
struct PackedQuad {
    uvec2 words;
    uint count;  // Of numbers: zeros follow.
    PackedScaling scaling;
};

// From a column on that is a multiple of four.
PackedQuad load_packed_quad(PackedRows rows, uint row, uint column) {
    PackedQuad quad = PackedQuad(uvec2(0U), 0U, PackedScaling(1.0F, 0.0F));
    if (column >= rows.columns) return quad;
    Words words = Words(rows.words);
    uint row_words = packed_row_words(rows);
    uint at = column / packed_in_word;
    quad.words.x = words.at[row * row_words + at] >> column % packed_in_word * packed_bits;
    if (packed_bits == 16U && at + 1U < row_words) quad.words.y = words.at[row * row_words + at + 1U];
    quad.count = min(rows.columns - column, 4U);
    quad.scaling = packed_scaling(rows, row, column);
    return quad;
}

vec4 packed_numbers(PackedQuad quad) {
    vec4 numbers;
    [[unroll]] for (uint i = 0U; i < 4U; ++i) {
        bool is_second = packed_bits == 16U && i >= 2U;
        float number = packed_value(is_second ? quad.words.y : quad.words.x,
                                    packed_bits == 16U ? i % 2U : i, quad.scaling);
        numbers[i] = i < quad.count ? number : 0.0F;
    }
    return numbers;
}
