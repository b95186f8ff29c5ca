#version 460
#extension GL_GOOGLE_include_directive : require
#include "cambrian/gpu/shaders/prelude.glsl"
#include "cambrian/gpu/shaders/elementary.glsl"
#include "cambrian/gpu/shaders/ops.glsl"
#include "cambrian/gpu/shaders/number_formats.glsl"
#include "cambrian/gpu/shaders/matmul/matmul.glsl"

// Products of few rows with the rows of a matrix, of numbers or in codes: half of a workgroup reads, four stages
// of k ahead, and writes numbers to shared memory, while the others add up what is there, an invocation for
// each element of the tile. So memory never waits for sums, nor these for memory. Every sum is 0 plus its terms
// in ascending k, with CAMBRIAN_STRICT each term rounded: the bits of matmul.comp. Push as in matmul.glsl, but for
// words 5 and 13; the tile is 8 rows by 32 columns. Where k is cut into dispatches, this one adds from word[5] up
// to word[13], both four whole stages but for the end.

layout(constant_id = 1) const uint packed_kind = 0U;
layout(constant_id = 2) const uint packed_bits = 8U;
layout(constant_id = 3) const uint packed_group = 0U;
layout(constant_id = 4) const uint depth = 128U;           // Of a stage.
layout(constant_id = 5) const uint with_vectors = 0U;      // Numbers come in whole fours.
layout(constant_id = 6) const uint with_activation = 0U;   // 1: a common one, 2: any.
#include "cambrian/gpu/shaders/packed/packed.glsl"
#include "cambrian/gpu/shaders/packed/packed_product.glsl"
#include "cambrian/gpu/shaders/matmul/epilogue.glsl"

const uint adders = 256U;
const uint readers = 256U;
const uint tile_rows = 8U;
const uint tile_columns = 32U;
const uint depth_quads = depth / 4U;
const uint column_quads = depth_quads + 1U;  // Neighbours in different banks.

// What an invocation reads at once: up to four words.
const uint unit_words = packed_bits >= 8U ? 4U : packed_bits == 4U ? 2U : 1U;
const uint unit_quads = unit_words * 8U / packed_bits;
const uint column_units = depth_quads / unit_quads;
const uint stage_units = tile_columns * column_units;
const uint unit_loads = (stage_units + readers - 1U) / readers;
const uint x_quads = tile_rows * depth_quads;
const uint x_loads = (x_quads + readers - 1U) / readers;

shared vec4 weight_tile[2U * tile_columns * column_quads];
shared vec4 x_tile[2U * x_quads];

// Of the stages on their way: memory answers after three of them have been added.
const uint stages_ahead = 4U;
uvec4 words_ahead[stages_ahead * unit_loads];
PackedScaling scalings_ahead[stages_ahead * unit_loads];
vec4 x_ahead[stages_ahead * x_loads];

struct Tile {
    PackedRows rows;
    Reals x;
    uint first_row;
    uint first_column;
    uint reader;
};

// The words of a unit from k on, zeros after the row.
uvec4 read_unit(Tile tile, uint row, uint k) {
    uint row_words = packed_row_words(tile.rows);
    uint at = k / packed_in_word;
    uint first = row * row_words + at;
    if (unit_words == 4U && with_vectors == 1U)
        return Words4(tile.rows.words + 4UL * uint64_t(first)).at[0];
    Words words = Words(tile.rows.words);
    uvec4 unit = uvec4(words.at[first], 0U, 0U, 0U);
    [[unroll]] for (uint i = 1U; i < unit_words; ++i) {
        if (at + i < row_words) unit[i] = words.at[first + i];
    }
    return unit;
}

// Where a quad of a column lies: those that neighbours write at once in different banks.
uint quad_slot(uint quad) {
    return quad % unit_quads * column_units + quad / unit_quads;
}

// `which` of those on their way, `begin` its first k.
void load_stage(Tile tile, uint which, uint begin) {
    bool whole = begin + depth <= push.word[2];
    [[unroll]] for (uint i = 0U; i < unit_loads; ++i) {
        uint unit = tile.reader + i * readers;
        uint column = unit / column_units;
        uint k = begin + 4U * unit_quads * (unit % column_units);
        uvec4 words = uvec4(0U);
        if (unit < stage_units && k < push.word[2]) {
            uint row = min(tile.first_column + column, push.word[1] - 1U);
            words = read_unit(tile, row, k);
            // Those of whole rows stay what they were in the first stages.
            if (packed_group == packed_block || begin < push.word[5] + stages_ahead * depth)
                scalings_ahead[which * unit_loads + i] = packed_scaling(tile.rows, row, k);
        }
        words_ahead[which * unit_loads + i] = words;
    }
    [[unroll]] for (uint i = 0U; i < x_loads; ++i) {
        uint quad = tile.reader + i * readers;
        uint row = tile.first_row + quad / depth_quads;
        uint k = begin + 4U * (quad % depth_quads);
        // After the last k it is -0 and a weight +0: their product -0 changes no sum.
        vec4 x = vec4(uintBitsToFloat(0x80000000U));
        if (quad < x_quads && row < push.word[0]) {
            uint first = row * push.word[2] + k;
            [[unroll]] for (uint j = 0U; j < 4U; ++j) {
                if (whole || k + j < push.word[2]) x[j] = tile.x.at[first + j];
            }
        }
        x_ahead[which * x_loads + i] = x;
    }
}

void store_stage(Tile tile, uint which, uint begin) {
    bool whole = begin + depth <= push.word[2];
    [[unroll]] for (uint i = 0U; i < unit_loads; ++i) {
        uint unit = tile.reader + i * readers;
        uint column = unit / column_units;
        uint first_quad = unit % column_units * unit_quads;
        if (stage_units % readers != 0U && unit >= stage_units) continue;
        uvec4 words = words_ahead[which * unit_loads + i];
        PackedScaling scaling = scalings_ahead[which * unit_loads + i];
        [[unroll]] for (uint q = 0U; q < unit_quads; ++q) {
            vec4 numbers;
            [[unroll]] for (uint j = 0U; j < 4U; ++j) {
                uint code = q * 4U + j;
                numbers[j] = packed_value(words[code / packed_in_word], code % packed_in_word, scaling);
                uint k = begin + 4U * (first_quad + q) + j;
                if (!whole && k >= push.word[2]) numbers[j] = 0.0F;
            }
            uint slot = quad_slot(first_quad + q);
            weight_tile[(which % 2U * tile_columns + column) * column_quads + slot] = numbers;
        }
    }
    [[unroll]] for (uint i = 0U; i < x_loads; ++i) {
        uint quad = tile.reader + i * readers;
        if (x_quads % readers == 0U || quad < x_quads) {
            x_tile[which % 2U * x_quads + quad] = x_ahead[which * x_loads + i];
        }
    }
}

// The sum of an element of the tile goes on.
float add_stage(float sum, uint element, uint which) {
    uint row = element / tile_columns;
    uint column = element % tile_columns;
    uint weight_at = (which * tile_columns + column) * column_quads;
    uint x_at = which * x_quads + row * depth_quads;
    // Four quads are on their way from shared memory while the four before them are added.
    vec4 w[8];
    vec4 x[8];
    [[unroll]] for (uint q = 0U; q < 4U; ++q) {
        w[q] = weight_tile[weight_at + quad_slot(q)];
        x[q] = x_tile[x_at + q];
    }
    [[unroll]] for (uint first = 0U; first < depth_quads; first += 4U) {
        uint here = first & 4U;
        uint next = 4U - here;
        if (first + 4U < depth_quads) {
            [[unroll]] for (uint q = 0U; q < 4U; ++q) {
                w[next + q] = weight_tile[weight_at + quad_slot(first + 4U + q)];
                x[next + q] = x_tile[x_at + first + 4U + q];
            }
        }
        [[unroll]] for (uint q = 0U; q < 4U; ++q) {
            [[unroll]] for (uint j = 0U; j < 4U; ++j)
                sum = accumulate(sum, x[here + q][j], w[here + q][j]);
        }
    }
    return sum;
}

void main() {
    uint tile_index = group();
    uint first_column = tile_index % push.word[4] * tile_columns;
    tile_index /= push.word[4];
    uint first_row = tile_index % push.word[3] * tile_rows;
    uint individual = tile_index / push.word[3];

    Tile tile;
    tile.rows = packed_rows(individual);
    tile.x = Reals(push.address[0] + individual_bytes(individual, push.word[6]));
    tile.first_row = first_row;
    tile.first_column = first_column;
    tile.reader = gl_LocalInvocationIndex - adders;

    bool reads = gl_LocalInvocationIndex >= adders;
    uint element = gl_LocalInvocationIndex;
    uint row = first_row + element / tile_columns;
    uint column = first_column + element % tile_columns;
    uint at = row * push.word[1] + column;
    Reals result = Reals(push.address[2] + individual_bytes(individual, push.word[8]));
    bool adds = !reads && row < push.word[0] && column < push.word[1];
    float sum = adds && push.word[5] > 0U ? result.at[at] : 0.0F;

    if (reads) {
        [[unroll]] for (uint stage = 0U; stage < stages_ahead; ++stage)
            load_stage(tile, stage, push.word[5] + stage * depth);
        store_stage(tile, 0U, push.word[5]);
    }
    [[dont_unroll]] for (uint k = push.word[5]; k < push.word[13]; k += stages_ahead * depth) {
        [[unroll]] for (uint stage = 0U; stage < stages_ahead; ++stage) {
            uint here = k + stage * depth;
            barrier();
            if (reads) {
                load_stage(tile, stage, here + stages_ahead * depth);
                store_stage(tile, (stage + 1U) % stages_ahead, here + depth);
            } else if (adds && here < push.word[13]) {
                sum = add_stage(sum, element, stage % 2U);
            }
        }
    }
    if (!adds) return;
    if (push.word[13] < push.word[2]) {
        result.at[at] = sum;
        return;
    }
    sum = finished(sum);
    ADD_EPILOGUE(sum, individual, column)
    result.at[at] = sum;
}
