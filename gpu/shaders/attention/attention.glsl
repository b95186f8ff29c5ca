// What the tiled kernels of attention share: tiles of two matrices through shared memory. A workgroup
// owns `tile_rows` rows of one key head and walks over the other side in tiles of `tile_side`; every
// thread has thread_rows rows by 4 columns of a tile of scores, and of every `tile_side` columns of what
// it sums up. The includer says how many things that are (sum_count), and last_tile_first.
// Push, beside what heads.glsl names:
//   word     4 first and 5 last tile of the walk (one after), 6 first column of the sums

layout(constant_id = 1) const uint tile_rows = 16;
layout(constant_id = 2) const uint tile_side = 16;
layout(constant_id = 3) const uint tile_columns = 32;  // Of the sums.
layout(constant_id = 4) const uint thread_rows = 4;

#include "cambrian/gpu/shaders/attention/heads.glsl"

const uint threads_across = tile_side / 4U;
const uint threads_down = tile_rows / thread_rows;
const uint threads = threads_across * threads_down;
const uint row_quads = thread_rows / 4U;
const uint tile_row_quads = tile_rows / 4U;
const uint side_quads = tile_side / 4U;
const uint column_blocks = tile_columns / tile_side;
const uint max_quads = tile_row_quads > side_quads ? tile_row_quads : side_quads;
const uint max_loads = max_quads * tile_side / threads;  // Every tile is whole loads of all.

// Three tiles: [depth][own rows in fours]; [depth][other rows in fours], and then the weights as
// [other row][own rows in fours]; [other row][columns in fours].
const uint left_tile = 0U;
const uint right_tile = tile_side * tile_row_quads;
const uint value_tile = right_tile + tile_side * max_quads;
shared vec4 tiles[value_tile + tile_side * side_quads];

// Of a tile, own rows by four of the other side.
vec4 product[thread_rows];
vec4 weights[thread_rows];

// Row group and column of this thread: 32 neighbours form a block of few rows and columns, so that
// they read few different quads at once.
uvec2 thread_position() {
    const uint block_columns = threads_across < 8U ? threads_across : 8U;
    const uint wanted_rows = 32U / block_columns;
    const uint block_rows = threads_down < wanted_rows ? threads_down : wanted_rows;
    const uint blocks_across = threads_across / block_columns;
    uint block = gl_LocalInvocationIndex / (block_rows * block_columns);
    uint lane = gl_LocalInvocationIndex % (block_rows * block_columns);
    return uvec2(block / blocks_across * block_rows + lane / block_columns,
                 block % blocks_across * block_columns + lane % block_columns);
}

// First of four rows of this thread within the tile.
uint own_row(uint quad, uvec2 at) {
    return 4U * (quad * threads_down + at.x);
}

#include "cambrian/gpu/shaders/attention/attention_tiles.glsl"
