// A tile of one result in each workgroup: what matmul.comp and matmul_packed.comp are.

#include "cambrian/gpu/shaders/matmul/matmul_tiles.glsl"

vec4 sums[thread_rows * column_quads];

#ifdef MATMUL_PACKED
#include "cambrian/gpu/shaders/packed/tile_chains.glsl"
#endif

// The place of this thread in the tile: 32 neighbours form a block, so that they read few different
// quads of both tiles at once, and pairs of them share a column, so that 16 read at most 8 of right.
uvec2 thread_position() {
    const uint block_columns = threads_across < 8U ? threads_across : 8U;
    const uint wanted_rows = 32U / block_columns;
    const uint block_rows = threads_down < wanted_rows ? threads_down : wanted_rows;
    const uint block_size = block_rows * block_columns;
    const uint sharing = block_rows < 2U ? 1U : 2U;
    const uint blocks_across = threads_across / block_columns;
    uint block = gl_LocalInvocationIndex / block_size;
    uint lane = gl_LocalInvocationIndex % block_size;
    uint row = lane % sharing + lane / (sharing * block_columns) * sharing;
    uint column = lane / sharing % block_columns;
    return uvec2(block / blocks_across * block_rows + row,
                 block % blocks_across * block_columns + column);
}

void multiply_tiles(uint stage, uvec2 place) {
    [[unroll]] for (uint depth = 0U; depth < tile_depth; ++depth) {
        vec4 left[row_quads];
        vec4 right[column_quads];
        [[unroll]] for (uint i = 0U; i < row_quads; ++i) {
            left[i] = left_tile[tile_slot(stage, depth, i * threads_down + place.x, left_width)];
        }
        [[unroll]] for (uint i = 0U; i < column_quads; ++i) {
            right[i] =
                right_tile[tile_slot(stage, depth, i * threads_across + place.y, right_width)];
        }
        [[unroll]] for (uint row = 0U; row < thread_rows; ++row) {
            [[unroll]] for (uint i = 0U; i < column_quads; ++i) {
                sums[row * column_quads + i] =
                    accumulate(sums[row * column_quads + i], left[row / 4U][row % 4U], right[i]);
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

void store_result(Product product, uint row, uint column, vec4 values, vec4 bias) {
#ifdef MATMUL_PACKED
    if (in_chains) values = added(load_kept(product, row, column), values);
#endif
    [[unroll]] for (uint i = 0U; i < 4U; ++i) {
        values[i] = finished(values[i]);
        if (flagged(flag_bias)) {
            values[i] = op_add(values[i], bias[i]);
        }
        if (with_activation == 1U) {
            values[i] = op_activate(values[i], product.code);
        }
    }
    if (with_activation == 2U) {
        [[dont_unroll]] for (uint i = 0U; i < 4U; ++i) {
            values[i] = op_activate_any(values[i], product.code);
        }
    }
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

// Row after row through the front of the sums: the activation stands here once, not for each row.
void store_results(Product product, uint first_row, uint first_column, uvec2 place) {
    vec4 bias[column_quads];
    [[unroll]] for (uint quad = 0U; quad < column_quads; ++quad) {
        bias[quad] = load_bias(product, first_column + 4U * (quad * threads_across + place.y));
    }
    [[dont_unroll]] for (uint i = 0U; i < thread_rows; ++i) {
        uint row = first_row + 4U * (i / 4U * threads_down + place.x) + i % 4U;
        [[unroll]] for (uint quad = 0U; quad < column_quads; ++quad) {
            uint column = first_column + 4U * (quad * threads_across + place.y);
            if (row < push.word[0] && column < push.word[1]) {
                store_result(product, row, column, sums[quad], bias[quad]);
            }
        }
        [[unroll]] for (uint next = column_quads; next < thread_rows * column_quads; ++next) {
            sums[next - column_quads] = sums[next];
        }
    }
}

void main() {
    uint tile = group();
    uint first_column = tile % push.word[4] * tile_columns;
    tile /= push.word[4];
    uint first_row = tile % push.word[3] * tile_rows;
    tile /= push.word[3];
    Product product = locate(tile / push.word[5], tile % push.word[5]);
    Operand left = left_operand(product.left, first_row);
    RightOperand right = right_operand(product, tile / push.word[5], first_column);
    uvec2 place = thread_position();

    [[unroll]] for (uint i = 0U; i < thread_rows * column_quads; ++i) {
        sums[i] = vec4(0.0F);
    }
    uint steps = (push.word[2] + tile_depth - 1U) / tile_depth;
    uint depth = 0U;  // First k of a step.
    if (steps > 0U) {
        load_tiles(left, right, 0U);
        store_tiles(0U);
        barrier();
    }
    [[dont_unroll]] for (uint step = 0U; step < steps; ++step) {
        bool more = step + 1U < steps;
        uint next = depth + tile_depth;
#ifdef MATMUL_PACKED
        if (in_chains) next = next_depth(depth);
#endif
        if (more) {
            load_tiles(left, right, next);
        }
        multiply_tiles(step & 1U, place);
#ifdef MATMUL_PACKED
        if (in_chains && more && chain_of(next) != chain_of(depth)) {
            keep_sums(product, first_row, first_column, place, chain_of(depth) == 0U);
        }
#endif
        if (more) {
            store_tiles((step + 1U) & 1U);
        }
        barrier();
        depth = next;
    }
    store_results(product, first_row, first_column, place);
}
