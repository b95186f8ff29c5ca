// The tiles of matmul_product.glsl: how they are cut, and their way from memory through registers to shared
// memory.

layout(constant_id = 1) const uint tile_rows = 32;
layout(constant_id = 2) const uint tile_columns = 32;
layout(constant_id = 3) const uint tile_depth = 8;
layout(constant_id = 4) const uint thread_rows = 4;
layout(constant_id = 5) const uint thread_columns = 4;
layout(constant_id = 6) const uint left_load = 0;   // Bits below.
layout(constant_id = 7) const uint right_load = 0;
layout(constant_id = 8) const uint with_activation = 0;  // 1: a common one, 2: any.

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
#ifdef MATMUL_PACKED
#define RightAhead PackedQuad
#else
#define RightAhead vec4
#endif
RightAhead right_next[right_loads];

// An operand as rows (those of left, the columns of right) by k.
struct Operand {
    uint64_t address;
    uint row_stride;
    uint depth_stride;
    uint first_row;
    uint rows;
    float padding;
};

// After the last k left is -0 and right +0: their product -0 changes no sum, not even -0.
Operand left_operand(uint64_t address, uint first_row) {
    bool transposed = flagged(flag_transpose_left);
    return Operand(address, transposed ? 1U : push.word[2], transposed ? push.word[0] : 1U,
                   first_row, push.word[0], uintBitsToFloat(0x80000000U));
}

#ifndef MATMUL_PACKED
#define RightOperand Operand
Operand right_operand(Product product, uint, uint first_column) {
    bool transposed = flagged(flag_transpose_right);
    return Operand(product.right, transposed ? push.word[2] : 1U, transposed ? 1U : push.word[1],
                   first_column, push.word[1], 0.0F);
}
#endif

// Row and k of a quad within a tile of `width` quads of rows.
uvec2 quad_position(uint quad, uint load, uint width) {
    return (load & load_along_rows) != 0U
               ? uvec2(4U * (quad % width), quad / width)
               : uvec2(quad / (tile_depth / 4U), 4U * (quad % (tile_depth / 4U)));
}

// Rows after the last one repeat it: nothing is stored for them.
vec4 load_quad(Operand operand, uint load, uvec2 position, uint first_depth) {
    uint depth = first_depth + position.y;
    uint last_row = operand.rows - 1U;
    vec4 quad = vec4(operand.padding);
    if ((load & load_vectors) != 0U) {
        // Rows or k come in whole fours here.
        uint last = (load & load_along_rows) != 0U ? operand.rows - 4U : last_row;
        uint row = min(operand.first_row + position.x, last);
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

#ifdef MATMUL_PACKED
// The columns of right are rows of codes.
struct RightOperand {
    PackedRows rows;
    uint first_row;
};
RightOperand right_operand(Product, uint individual, uint first_column) {
    return RightOperand(packed_rows(individual), first_column);
}
RightAhead load_right(RightOperand operand, uvec2 position, uint first_depth) {
    uint row = min(operand.first_row + position.x, push.word[1] - 1U);
    return load_packed_quad(operand.rows, row, first_depth + position.y);
}
// After the load has come: to decode at once would wait for it.
vec4 right_numbers(RightAhead ahead) {
    return packed_numbers(ahead);
}
#else
vec4 right_numbers(RightAhead ahead) {
    return ahead;
}
vec4 load_right(RightOperand operand, uvec2 position, uint first_depth) {
    return load_quad(operand, right_load, position, first_depth);
}
#endif

// Where a quad of rows of one k lies. Threads that store four k of neighbouring rows would meet in
// the same banks, so quads of different k are turned against each other.
uint tile_slot(uint stage, uint depth, uint row_quad, uint width) {
    uint turn = (depth / 4U * (32U / tile_depth)) & (width - 1U);
    return (stage * tile_depth + depth) * width + (row_quad ^ turn);
}

void load_tiles(Operand left, RightOperand right, uint first_depth) {
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
            right_next[i] =
                load_right(right, quad_position(quad, right_load, right_width), first_depth);
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
            store_right(stage, quad, right_numbers(right_next[i]));
        }
    }
}
