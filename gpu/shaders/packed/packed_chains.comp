#version 460
#extension GL_GOOGLE_include_directive : require
#include "cambrian/gpu/shaders/prelude.glsl"
#include "cambrian/gpu/shaders/elementary.glsl"
#include "cambrian/gpu/shaders/ops.glsl"
#include "cambrian/gpu/shaders/number_formats.glsl"
#define MATMUL_PACKED
#include "cambrian/gpu/shaders/matmul/matmul.glsl"

// Products of few rows with a matrix in codes whose sums are long, in fast math: chains (chains.glsl) are added up
// side by side. Four neighbours read `own_rows` rows of the matrix together, each a piece of each row, and have a
// chain each; 32 neighbours are one part of a workgroup, and parts have different groups of chains. Codes are read a
// piece ahead of the sums, and x stands in shared memory. The tile is `rows` by 8 `own_rows` columns. Push as in matmul.glsl, but for words
// 5 and 13: this dispatch adds the groups from the one up to the other to those before.

layout(constant_id = 1) const uint packed_kind = 0U;
layout(constant_id = 2) const uint packed_bits = 8U;
layout(constant_id = 3) const uint packed_group = 0U;
layout(constant_id = 4) const uint parts = 4U;
layout(constant_id = 5) const uint rows = 1U;
layout(constant_id = 6) const uint stage = 8U;             // Pieces of a chain whose x is in shared memory.
layout(constant_id = 7) const uint with_vectors = 0U;      // Rows of codes are whole vectors.
layout(constant_id = 8) const uint with_x_vectors = 0U;    // Rows of x are.
layout(constant_id = 9) const uint with_activation = 0U;   // 1: a common one, 2: any.
layout(constant_id = 10) const uint with_halves = 0U;      // The device unpacks subnormal halves.
layout(constant_id = 11) const uint own_rows = 4U;         // Of the matrix.
#include "cambrian/gpu/shaders/packed/packed.glsl"
#include "cambrian/gpu/shaders/packed/halves.glsl"
#include "cambrian/gpu/shaders/packed/packed_product.glsl"
#include "cambrian/gpu/shaders/packed/chains.glsl"
#include "cambrian/gpu/shaders/matmul/epilogue.glsl"

const uint lanes = 32U;  // Of a part.
const uint columns = lanes / chains * own_rows;
const uint threads = lanes * parts;
const uint elements = rows * columns;
const uint own_elements = (elements + threads - 1U) / threads;
const uint piece_quads = piece / 4U;
const uint piece_stride = piece_quads + 1U;  // Neighbours in different banks.
const uint part_quads = stage * chains * piece_stride;
const uint row_quads = parts * part_quads;
const uint x_loads = rows * stage;  // Of an invocation.
const uint piece_words = packed_bits;  // 32 numbers of so many bits.
const uint piece_vectors = (piece_words + 3U) / 4U;

shared vec4 x_tile[rows * row_quads];
shared float chain_sums[parts * chains * elements];

uint64_t left;
uint first_row;
PackedRows matrix;
uint own_row[own_rows];
uint64_t own_words[own_rows];  // Where a row begins.

uvec4 words_ahead[own_rows * piece_vectors];
PackedScaling scalings_ahead[own_rows];
uvec4 words[own_rows * piece_vectors];
PackedScaling scalings[own_rows];
float sums[own_rows * rows];
float totals[own_elements];

// The codes of a piece that is whole.
void load_piece(uint k) {
    if (k + piece > push.word[2]) return;
    [[unroll]] for (uint r = 0U; r < own_rows; ++r) {
        uint64_t first = own_words[r] + uint64_t(k / 8U * packed_bits);
        [[unroll]] for (uint v = 0U; v < piece_vectors; ++v) {
            if (with_vectors == 1U && packed_bits >= 4U) {
                words_ahead[r * piece_vectors + v] = Words4(first).at[v];
            } else {
                [[unroll]] for (uint i = 0U; i < min(piece_words, 4U); ++i)
                    words_ahead[r * piece_vectors + v][i] = Words(first).at[4U * v + i];
            }
        }
        if (packed_group == packed_block) scalings_ahead[r] = packed_scaling(matrix, own_row[r], k);
    }
}

// x of some pieces of the chains of all parts: all of it is on its way before any is stored.
void load_x(uint first_group, uint first_piece) {
    vec4 x[x_loads];
    [[unroll]] for (uint i = 0U; i < x_loads; ++i) {
        uint quad = gl_LocalInvocationIndex + i * threads;
        uint place = quad / piece_quads;
        uint row = place / (parts * stage * chains);
        uint part = place / (stage * chains) % parts;
        uint k = (first_group + part) * group_numbers +
                 (first_piece * chains + place % (stage * chains)) * piece + 4U * (quad % piece_quads);
        uint64_t from = left + 4UL * uint64_t(min(first_row + row, push.word[0] - 1U) * push.word[2] + k);
        x[i] = vec4(0.0F);
        if (with_x_vectors == 1U) {
            if (k < push.word[2]) x[i] = Reals4(from).at[0];
        } else {
            [[unroll]] for (uint j = 0U; j < 4U; ++j) {
                if (k + j < push.word[2]) x[i][j] = Reals(from).at[j];
            }
        }
    }
    [[unroll]] for (uint i = 0U; i < x_loads; ++i) {
        uint quad = gl_LocalInvocationIndex + i * threads;
        x_tile[quad / piece_quads * piece_stride + quad % piece_quads] = x[i];
    }
}

// Word i of the piece of a row.
uint word_of_piece(uint own, uint i) {
    return words[own * piece_vectors + i / 4U][i % 4U];
}

// Quad q of half of a piece, whose words come first.
vec4 numbers_of(uint own, uint q) {
    vec4 numbers;
    if (as_halves()) {
        uint at = 4U * q / packed_in_word;
        uvec2 from = uvec2(word_of_piece(own, at), packed_bits == 16U ? word_of_piece(own, at + 1U) : 0U);
        numbers = quad_by_halves(from, q % 2U);
        [[unroll]] for (uint j = 0U; j < 4U; ++j) {
            if (packed_group != packed_unscaled)
                numbers[j] = op_mul(numbers[j], op_mul(scalings[own].scale, half_unit()));
        }
        return numbers;
    }
    [[unroll]] for (uint j = 0U; j < 4U; ++j) {
        uint code = 4U * q + j;
        numbers[j] = packed_value(word_of_piece(own, code / packed_in_word), code % packed_in_word, scalings[own]);
    }
    return numbers;
}

void add_half(uint x_at) {
    [[unroll]] for (uint q = 0U; q < piece_quads / 2U; ++q) {
        vec4 x[rows];
        [[unroll]] for (uint r = 0U; r < rows; ++r) x[r] = x_tile[r * row_quads + x_at + q];
        [[unroll]] for (uint own = 0U; own < own_rows; ++own) {
            vec4 numbers = numbers_of(own, q);
            [[unroll]] for (uint j = 0U; j < 4U; ++j) {
                [[unroll]] for (uint r = 0U; r < rows; ++r)
                    sums[own * rows + r] = accumulate(sums[own * rows + r], x[r][j], numbers[j]);
            }
        }
    }
}

// Whether the whole piece that is there can be read as halves: it has no NaN that these have not, and its scales are
// no larger than their unit leaves room for.
bool reads_as_halves() {
    bool all = true;
    [[unroll]] for (uint own = 0U; own < own_rows; ++own) {
        if (packed_group != packed_unscaled) all = all && scalings[own].scale < uintBitsToFloat(max_half_scale_bits);
        if (packed_kind == packed_f8_e4m3) {
            uint found = 0U;
            [[unroll]] for (uint i = 0U; i < piece_words; ++i)
                found |= (word_of_piece(own, i) & 0x7F7F7F7FU) + 0x01010101U;
            all = all && (found & 0x80808080U) == 0U;
        }
    }
    return all;
}

// The second half's words to the front.
void turn_words() {
    [[unroll]] for (uint own = 0U; own < own_rows; ++own) {
        uint at = own * piece_vectors;
        if (packed_bits == 16U) {
            words[at] = words[at + piece_vectors / 2U];
            words[at + 1U] = words[at + piece_vectors / 2U + 1U];
        }
        if (packed_bits == 8U) words[at] = words[at + piece_vectors / 2U];
        if (packed_bits == 4U) words[at].xy = words[at].zw;
        if (packed_bits == 2U) words[at].x = words[at].y;
        if (packed_bits == 1U) words[at].x >>= 16U;
    }
}

// A piece code by code: the end of a row, or what is no half.
void add_codes(uint k, uint x_at) {
    [[dont_unroll]] for (uint i = 0U; i < min(piece, push.word[2] - k); ++i) {
        [[unroll]] for (uint own = 0U; own < own_rows; ++own) {
            uint word = Words(own_words[own]).at[(k + i) / packed_in_word];
            if (packed_group == packed_block) scalings[own] = packed_scaling(matrix, own_row[own], k + i);
            float number = packed_value(word, (k + i) % packed_in_word, scalings[own]);
            [[unroll]] for (uint r = 0U; r < rows; ++r)
                sums[own * rows + r] =
                    accumulate(sums[own * rows + r], x_tile[r * row_quads + x_at + i / 4U][i % 4U], number);
        }
    }
}

// The piece from k on, whose codes have been read where it is whole; reads those of the one after it.
void add_piece(uint k, uint x_at) {
    if (k >= push.word[2]) return;
    if (k + piece > push.word[2]) {
        add_codes(k, x_at);
        return;
    }
    [[unroll]] for (uint w = 0U; w < own_rows * piece_vectors; ++w) words[w] = words_ahead[w];
    if (packed_group == packed_block) {
        [[unroll]] for (uint own = 0U; own < own_rows; ++own) scalings[own] = scalings_ahead[own];
    }
    if (k % group_numbers + chains * piece < group_numbers) load_piece(k + chains * piece);
    if (as_halves() && !reads_as_halves()) {
        add_codes(k, x_at);
        return;
    }
    [[dont_unroll]] for (uint half_piece = 0U; half_piece < 2U; ++half_piece) {
        add_half(x_at + half_piece * piece_quads / 2U);
        turn_words();
    }
}

// The sums of the chains of all parts, in their order.
void add_chains(uint first_group) {
    [[unroll]] for (uint e = 0U; e < own_elements; ++e) {
        uint element = gl_LocalInvocationIndex + e * threads;
        [[unroll]] for (uint c = 0U; c < parts * chains; ++c) {
            // One without a term is none.
            if (element < elements && piece_begin(first_group + c / chains, c % chains, 0U) < push.word[2])
                totals[e] = op_add(totals[e], chain_sums[c * elements + element]);
        }
    }
}

// Those of the groups before.
void load_totals(uint individual, uint first_column) {
    Reals result = Reals(push.address[2] + individual_bytes(individual, push.word[8]));
    [[unroll]] for (uint e = 0U; e < own_elements; ++e) {
        uint element = gl_LocalInvocationIndex + e * threads;
        uint row = first_row + element / columns;
        uint column = first_column + element % columns;
        totals[e] = 0.0F;
        if (push.word[5] > 0U && element < elements && row < push.word[0] && column < push.word[1])
            totals[e] = result.at[row * push.word[1] + column];
    }
}

void store_results(uint individual, uint first_column) {
    Reals result = Reals(push.address[2] + individual_bytes(individual, push.word[8]));
    [[unroll]] for (uint e = 0U; e < own_elements; ++e) {
        uint element = gl_LocalInvocationIndex + e * threads;
        uint row = first_row + element / columns;
        uint column = first_column + element % columns;
        if (element >= elements || row >= push.word[0] || column >= push.word[1]) continue;
        float sum = totals[e];
        if (push.word[13] * group_numbers >= push.word[2]) {
            sum = finished(sum);
            ADD_EPILOGUE(sum, individual, column)
        }
        result.at[row * push.word[1] + column] = sum;
    }
}

void main() {
    uint tile = group();
    uint first_column = tile % push.word[4] * columns;
    tile /= push.word[4];
    first_row = tile % push.word[3] * rows;
    uint individual = tile / push.word[3];
    matrix = packed_rows(individual);
    left = push.address[0] + individual_bytes(individual, push.word[6]);
    uint part = gl_LocalInvocationIndex / lanes;
    uint chain = gl_LocalInvocationIndex % chains;
    uint own_column = gl_LocalInvocationIndex % lanes / chains * own_rows;
    [[unroll]] for (uint own = 0U; own < own_rows; ++own) {
        own_row[own] = min(first_column + own_column + own, push.word[1] - 1U);
        own_words[own] = matrix.words + 4UL * uint64_t(own_row[own] * packed_row_words(matrix));
        if (packed_group == packed_row) scalings[own] = packed_scaling(matrix, own_row[own], 0U);
    }
    load_totals(individual, first_column);
    [[dont_unroll]] for (uint first_group = push.word[5]; first_group < push.word[13]; first_group += parts) {
        [[unroll]] for (uint s = 0U; s < own_rows * rows; ++s) sums[s] = 0.0F;
        load_piece(piece_begin(first_group + part, chain, 0U));
        [[dont_unroll]] for (uint first = 0U; first < chain_pieces; first += stage) {
            if (first > 0U) barrier();
            load_x(first_group, first);
            barrier();
            uint x_at = (part * stage * chains + chain) * piece_stride;
            [[dont_unroll]] for (uint i = first; i < first + stage; ++i) {
                add_piece(piece_begin(first_group + part, chain, i), x_at);
                x_at += chains * piece_stride;
            }
        }
        [[unroll]] for (uint s = 0U; s < own_rows * rows; ++s) {
            uint place = (part * chains + chain) * rows + s % rows;
            chain_sums[place * columns + own_column + s / rows] = sums[s];
        }
        barrier();
        add_chains(first_group);
        barrier();
    }
    store_results(individual, first_column);
}
