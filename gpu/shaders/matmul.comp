#version 460
#extension GL_GOOGLE_include_directive : require
#include "prelude.glsl"
#include "elementary.glsl"
#include "ops.glsl"
#include "matmul.glsl"

// Products of many matrices, a tile of one result in each workgroup. Tiles of both operands go
// through shared memory, one while the next is on its way in registers. Every element of the result
// is 0 plus its terms in ascending k whatever the tile, so a tile never changes a bit. With
// CAMBRIAN_STRICT every term is rounded before it is added.

layout(constant_id = 1) const uint tile_rows = 32;
layout(constant_id = 2) const uint tile_columns = 32;
layout(constant_id = 3) const uint tile_depth = 8;
layout(constant_id = 4) const uint thread_rows = 4;
layout(constant_id = 5) const uint thread_columns = 4;
layout(constant_id = 6) const uint left_load = 0;   // Bits below.
layout(constant_id = 7) const uint right_load = 0;
layout(constant_id = 8) const uint with_activation = 0;

const uint load_along_rows = 1U;  // Four neighbours of one k at a time, else four k of one row.
const uint load_vectors = 2U;     // Those four in one load of 16 bytes.

const uint threads_down = tile_rows / thread_rows;
const uint threads_across = tile_columns / thread_columns;
const uint threads = threads_down * threads_across;
const uint row_quads = thread_rows / 4U;
const uint column_quads = thread_columns / 4U;
const uint left_width = tile_rows / 4U;
const uint right_width = tile_columns / 4U;
const uint left_quads = tile_depth * left_width;
const uint right_quads = tile_depth * right_width;
const uint left_loads = (left_quads + threads - 1U) / threads;
const uint right_loads = (right_quads + threads - 1U) / threads;

// Two stages of [k][row or column in fours].
shared vec4 left_tile[2U * left_quads];
shared vec4 right_tile[2U * right_quads];

vec4 left_next[left_loads];
vec4 right_next[right_loads];
vec4 sums[thread_rows * column_quads];

// An operand as rows (those of left, the columns of right) by k.
struct Operand {
    uint64_t address;
    uint row_stride;
    uint depth_stride;
    uint first_row;
    uint rows;
    float padding;
};

// Behind the last k left is -0 and right +0: their product -0 changes no sum, not even -0.
Operand left_operand(uint64_t address, uint first_row) {
    bool transposed = flagged(flag_transpose_left);
    return Operand(address, transposed ? 1U : push.word[2], transposed ? push.word[0] : 1U,
                   first_row, push.word[0], uintBitsToFloat(0x80000000U));
}

Operand right_operand(uint64_t address, uint first_column) {
    bool transposed = flagged(flag_transpose_right);
    return Operand(address, transposed ? push.word[2] : 1U, transposed ? 1U : push.word[1],
                   first_column, push.word[1], 0.0F);
}

// Row and k of a quad within a tile of `width` quads of rows.
uvec2 quad_position(uint quad, uint load, uint width) {
    return (load & load_along_rows) != 0U
               ? uvec2(4U * (quad % width), quad / width)
               : uvec2(quad / (tile_depth / 4U), 4U * (quad % (tile_depth / 4U)));
}

// Rows behind the last one repeat it: nothing is stored for them.
vec4 load_quad(Operand operand, uint load, uvec2 position, uint first_depth) {
    uint depth = first_depth + position.y;
    uint last_row = operand.rows - 1U;
    vec4 quad = vec4(operand.padding);
    if ((load & load_vectors) != 0U) {
        // Rows or k come in whole fours here.
        uint most = (load & load_along_rows) != 0U ? operand.rows - 4U : last_row;
        uint row = min(operand.first_row + position.x, most);
        if (depth < push.word[2]) {
            uint at = row * operand.row_stride + depth * operand.depth_stride;
            quad = Reals4(operand.address + 4UL * uint64_t(at)).at[0];
        }
        return quad;
    }
    Reals values = Reals(operand.address);
    uint row = min(operand.first_row + position.x, last_row);
    [[unroll]] for (uint i = 0U; i < 4U; ++i) {
        bool along_rows = (load & load_along_rows) != 0U;
        uint own_row = along_rows ? min(row + i, last_row) : row;
        uint own_depth = along_rows ? depth : depth + i;
        if (own_depth < push.word[2]) {
            quad[i] = values.at[own_row * operand.row_stride + own_depth * operand.depth_stride];
        }
    }
    return quad;
}

// Where a quad of rows of one k lies. Threads that store four k of neighbouring rows would meet in
// the same banks, so quads of different k are turned against each other.
uint tile_slot(uint stage, uint depth, uint row_quad, uint width) {
    uint turn = (depth / 4U * (32U / tile_depth)) & (width - 1U);
    return (stage * tile_depth + depth) * width + (row_quad ^ turn);
}

void load_tiles(Operand left, Operand right, uint first_depth) {
    uint thread = gl_LocalInvocationIndex;
    [[unroll]] for (uint i = 0U; i < left_loads; ++i) {
        uint quad = thread + i * threads;
        if (left_quads % threads == 0U || quad < left_quads) {
            left_next[i] = load_quad(left, left_load, quad_position(quad, left_load, left_width),
                                     first_depth);
        }
    }
    [[unroll]] for (uint i = 0U; i < right_loads; ++i) {
        uint quad = thread + i * threads;
        if (right_quads % threads == 0U || quad < right_quads) {
            right_next[i] = load_quad(right, right_load,
                                      quad_position(quad, right_load, right_width), first_depth);
        }
    }
}

void store_left(uint stage, uint quad, vec4 values) {
    uvec2 position = quad_position(quad, left_load, left_width);
    if ((left_load & load_along_rows) != 0U) {
        left_tile[tile_slot(stage, position.y, position.x / 4U, left_width)] = values;
        return;
    }
    [[unroll]] for (uint i = 0U; i < 4U; ++i) {
        left_tile[tile_slot(stage, position.y + i, position.x / 4U, left_width)][position.x % 4U] =
            values[i];
    }
}

void store_right(uint stage, uint quad, vec4 values) {
    uvec2 position = quad_position(quad, right_load, right_width);
    if ((right_load & load_along_rows) != 0U) {
        right_tile[tile_slot(stage, position.y, position.x / 4U, right_width)] = values;
        return;
    }
    [[unroll]] for (uint i = 0U; i < 4U; ++i) {
        right_tile[tile_slot(stage, position.y + i, position.x / 4U, right_width)]
                  [position.x % 4U] = values[i];
    }
}

void store_tiles(uint stage) {
    uint thread = gl_LocalInvocationIndex;
    [[unroll]] for (uint i = 0U; i < left_loads; ++i) {
        uint quad = thread + i * threads;
        if (left_quads % threads == 0U || quad < left_quads) {
            store_left(stage, quad, left_next[i]);
        }
    }
    [[unroll]] for (uint i = 0U; i < right_loads; ++i) {
        uint quad = thread + i * threads;
        if (right_quads % threads == 0U || quad < right_quads) {
            store_right(stage, quad, right_next[i]);
        }
    }
}

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

void store_result(Product product, uint row, uint column, vec4 values) {
    uint columns = push.word[1];
    uint count = min(4U, columns - column);
    Reals bias = Reals(product.bias);
    Reals result = Reals(product.result);
    [[unroll]] for (uint i = 0U; i < 4U; ++i) {
        if (flagged(flag_bias) && i < count) {
            values[i] = op_add(values[i], bias.at[column + i]);
        }
        if (with_activation != 0U) {
            values[i] = op_activate(values[i], product.code);
        }
    }
    uint at = row * columns + column;
    if (flagged(flag_aligned_result)) {
        Reals4(product.result + 4UL * uint64_t(at)).at[0] = values;
        return;
    }
    [[unroll]] for (uint i = 0U; i < 4U; ++i) {
        if (i < count) {
            result.at[at + i] = values[i];
        }
    }
}

// Row after row through the front of the sums: the activation stands here once, not for each row.
void store_results(Product product, uint first_row, uint first_column, uvec2 place) {
    [[dont_unroll]] for (uint i = 0U; i < thread_rows; ++i) {
        uint row = first_row + 4U * (i / 4U * threads_down + place.x) + i % 4U;
        [[unroll]] for (uint quad = 0U; quad < column_quads; ++quad) {
            uint column = first_column + 4U * (quad * threads_across + place.y);
            if (row < push.word[0] && column < push.word[1]) {
                store_result(product, row, column, sums[quad]);
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
    Operand right = right_operand(product.right, first_column);
    uvec2 place = thread_position();

    [[unroll]] for (uint i = 0U; i < thread_rows * column_quads; ++i) {
        sums[i] = vec4(0.0F);
    }
    uint steps = (push.word[2] + tile_depth - 1U) / tile_depth;
    if (steps > 0U) {
        load_tiles(left, right, 0U);
        store_tiles(0U);
        barrier();
    }
    [[dont_unroll]] for (uint step = 0U; step < steps; ++step) {
        bool more = step + 1U < steps;
        if (more) {
            load_tiles(left, right, (step + 1U) * tile_depth);
        }
        multiply_tiles(step & 1U, place);
        if (more) {
            store_tiles((step + 1U) & 1U);
        }
        barrier();
    }
    store_results(product, first_row, first_column, place);
}
