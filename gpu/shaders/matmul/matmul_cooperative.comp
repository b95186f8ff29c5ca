#version 460
#extension GL_GOOGLE_include_directive : require
#pragma use_vulkan_memory_model
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_NV_cooperative_matrix : require
#include "cambrian/gpu/shaders/prelude.glsl"
#include "cambrian/gpu/shaders/elementary.glsl"
#include "cambrian/gpu/shaders/ops.glsl"
#include "cambrian/gpu/shaders/number_formats.glsl"
#include "cambrian/gpu/shaders/matmul/matmul.glsl"

// Products of matrices of f16 codes, their terms added up in f32 by the device's matrix units: a tile
// of one result in each workgroup, a part of it in each subgroup. Tiles of both operands go through
// shared memory, one while the next is on its way in registers: into the place beside it where there are
// two stages, else into the same place. A subgroup adds 16 k at a time in
// ascending order whatever the tile, so a tile never changes a bit.

#include "cambrian/gpu/shaders/matmul/matmul_cooperative_tiles.glsl"

layout(buffer_reference, scalar, buffer_reference_align = 8) buffer Words2 { uvec2 at[]; };

const uint fragment = 16U;  // Rows, columns and k of what a subgroup multiplies at once.
const uint row_fragments = part_rows / fragment;
const uint column_fragments = part_columns / fragment;

fcoopmatNV<32, gl_ScopeSubgroup, fragment, fragment> sums[row_fragments * column_fragments];

void multiply_tiles(uint stage, uvec2 part) {
    [[unroll]] for (uint depth = 0U; depth < tile_depth; depth += fragment) {
        fcoopmatNV<16, gl_ScopeSubgroup, fragment, fragment> right[column_fragments];
        [[unroll]] for (uint i = 0U; i < column_fragments; ++i) {
            coopMatLoadNV(right[i], tiles, right_slot(stage, part.y + i * fragment, depth),
                          right_stride, right_along_k);
        }
        [[unroll]] for (uint row = 0U; row < row_fragments; ++row) {
            fcoopmatNV<16, gl_ScopeSubgroup, fragment, fragment> left;
            coopMatLoadNV(left, tiles, left_slot(stage, part.x + row * fragment, depth),
                          left_stride, !left_along_k);
            [[unroll]] for (uint i = 0U; i < column_fragments; ++i) {
                sums[row * column_fragments + i] =
                    coopMatMulAddNV(left, right[i], sums[row * column_fragments + i]);
            }
        }
    }
}

vec4 load_bias(Product product, uint column) {
    vec4 bias = vec4(0.0F);
    [[unroll]] for (uint i = 0U; i < 4U; ++i) {
        if (flagged(flag_bias) && column + i < push.word[1]) {
            bias[i] = Reals(product.bias).at[column + i];
        }
    }
    return bias;
}

vec4 with_epilogue(vec4 values, vec4 bias, int code) {
    [[unroll]] for (uint i = 0U; i < 4U; ++i) {
        values[i] = finished(values[i]);
        if (flagged(flag_bias)) {
            values[i] = op_add(values[i], bias[i]);
        }
    }
    if (with_activation == 1U && code != 0) {
        [[unroll]] for (uint i = 0U; i < 4U; ++i) {
            values[i] = op_activate(values[i], code);
        }
    }
    if (with_activation == 2U) {
        [[dont_unroll]] for (uint i = 0U; i < 4U; ++i) {
            values[i] = op_activate_any(values[i], code);
        }
    }
    return values;
}

// The codes of encode_f16. Devices with matrix units round to nearest even; what lies beyond the
// largest code and NaN are not theirs to decide.
uint pair_of_codes(vec2 values) {
    const float largest = 65504.0F;
    if (abs(values.x) < largest && abs(values.y) < largest) {
        return packHalf2x16(values);
    }
    return encode_f16(values.x) | (encode_f16(values.y) << 16U);
}

void store_codes(Product product, uint row, uint column, vec4 values) {
    // What an odd row leaves of its last word is zero.
    values.y = column + 1U < push.word[1] ? values.y : 0.0F;
    values.w = column + 3U < push.word[1] ? values.w : 0.0F;
    uvec2 words = uvec2(pair_of_codes(values.xy), pair_of_codes(values.zw));
    uint row_words = (push.word[1] + 1U) / 2U;
    uint at = row * row_words + column / 2U;
    if (flagged(flag_aligned_result)) {
        Words2(product.result + 4UL * uint64_t(at)).at[0] = words;
        return;
    }
    Words result = Words(product.result);
    result.at[at] = words.x;
    if (column / 2U + 1U < row_words) {
        result.at[at + 1U] = words.y;
    }
}

void store_reals(Product product, uint row, uint column, vec4 values) {
    uint at = row * push.word[1] + column;
    if (flagged(flag_aligned_result)) {
        Reals4(product.result + 4UL * uint64_t(at)).at[0] = values;
        return;
    }
    Reals result = Reals(product.result);
    [[unroll]] for (uint i = 0U; i < 4U; ++i) {
        if (column + i < push.word[1]) {
            result.at[at + i] = values[i];
        }
    }
}

// A subgroup hands its sums to its lanes through its own piece of shared memory, 16 rows at a time,
// each through the front of the sums: an index that is known only at run time would put all of them
// into memory. A lane has the same four columns of all its rows.
void store_results(Product product, uvec2 first, uvec2 part) {
    const uint quads = part_columns / 4U;
    uint scratch = gl_SubgroupID * scratch_vectors;
    uint quad = gl_SubgroupInvocationID % quads;
    uint column = first.y + part.y + 4U * quad;
    vec4 bias = load_bias(product, column);
    [[dont_unroll]] for (uint row = 0U; row < part_rows; row += fragment) {
        [[unroll]] for (uint i = 0U; i < column_fragments; ++i) {
            coopMatStoreNV(sums[i], tiles, scratch + i * (fragment / 4U), scratch_stride, false);
        }
        subgroupMemoryBarrierShared();
        subgroupBarrier();
        [[dont_unroll]] for (uint inner = gl_SubgroupInvocationID / quads; inner < fragment;
                             inner += 32U / quads) {
            uint own_row = first.x + part.x + row + inner;
            if (own_row < push.word[0] && column < push.word[1]) {
                vec4 values = uintBitsToFloat(tiles[scratch + inner * scratch_stride + quad]);
                values = with_epilogue(values, bias, product.code);
                if (result_is_codes != 0U) {
                    store_codes(product, own_row, column, values);
                } else {
                    store_reals(product, own_row, column, values);
                }
            }
        }
        [[unroll]] for (uint next = column_fragments; next < row_fragments * column_fragments;
                        ++next) {
            sums[next - column_fragments] = sums[next];
        }
        subgroupBarrier();
    }
}

void main() {
    uint tile = group();
    uvec2 first;
    first.y = tile % push.word[4] * tile_columns;
    tile /= push.word[4];
    first.x = tile % push.word[3] * tile_rows;
    tile /= push.word[3];
    Product product = locate(tile / push.word[5], tile % push.word[5]);
    uvec2 part = uvec2(gl_SubgroupID / parts_across * part_rows,
                       gl_SubgroupID % parts_across * part_columns);

    [[unroll]] for (uint i = 0U; i < row_fragments * column_fragments; ++i) {
        sums[i] = fcoopmatNV<32, gl_ScopeSubgroup, fragment, fragment>(0.0F);
    }
    uint steps = (push.word[2] + tile_depth - 1U) / tile_depth;
    if (steps > 0U) {
        load_tiles(product, first, 0U);
        store_tiles(0U);
        barrier();
    }
    [[dont_unroll]] for (uint step = 0U; step < steps; ++step) {
        bool more = step + 1U < steps;
        if (more) {
            load_tiles(product, first, (step + 1U) * tile_depth);
        }
        multiply_tiles(step % stages, part);
        if (more) {
            if (stages == 1U) {
                barrier();
            }
            store_tiles((step + 1U) % stages);
        }
        barrier();
    }
    store_results(product, first, part);
}
