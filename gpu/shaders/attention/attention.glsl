// What the kernels of attention share: tiles of two matrices through shared memory, and the queries
// that see a key. A workgroup owns `tile_rows` rows of one key head and walks over the other side in
// tiles of `tile_side`; every thread has thread_rows rows by 4 columns of a tile of scores, and of
// every `tile_side` columns of what it sums up. The includer says how many things that are
// (sum_count), and whether the last tiles of a causal attention walk the furthest (last_tile_first).
// Push:
//   address  q, k, v, upstream, log-sum-exp, offset, first result, second result
//   word     0-1 address of valid, 2-3 address of the table, 4 first and 5 last tile of the walk (one
//            after), 6 first column of the sums, 7 tiles of a head
// Table: see the names below, then words between individuals of the eight addresses and of valid.

layout(constant_id = 1) const uint tile_rows = 16;
layout(constant_id = 2) const uint tile_side = 16;
layout(constant_id = 3) const uint tile_columns = 32;  // Of the sums.
layout(constant_id = 4) const uint thread_rows = 4;
layout(constant_id = 5) const uint only_vectors = 0;  // Rows of all matrices start on 16 bytes.

const uint table_rows = 0U;         // Queries of one key head.
const uint table_queries = 1U;      // Of one query head.
const uint table_keys = 2U;
const uint table_width = 3U;        // Of q and k.
const uint table_value_width = 4U;  // Of v, the output and its upstream.
const uint table_heads = 5U;        // Key heads of an individual.
const uint table_flags = 6U;
const uint table_scale = 7U;
const uint table_strides = 8U;

const uint flag_causal = 1U;
const uint flag_valid = 2U;

const uint tensor_q = 0U;
const uint tensor_k = 1U;
const uint tensor_v = 2U;
const uint tensor_upstream = 3U;
const uint tensor_log_sum_exp = 4U;
const uint tensor_offset = 5U;
const uint tensor_result = 6U;
const uint tensor_second_result = 7U;
const uint tensor_valid = 8U;

const uint threads_across = tile_side / 4U;
const uint threads_down = tile_rows / thread_rows;
const uint threads = threads_across * threads_down;
const uint row_quads = thread_rows / 4U;
const uint tile_row_quads = tile_rows / 4U;
const uint side_quads = tile_side / 4U;
const uint column_blocks = tile_columns / tile_side;
const uint max_quads = tile_row_quads > side_quads ? tile_row_quads : side_quads;
const uint max_loads = max_quads * tile_side / threads;  // Every tile is whole loads of all.

// The score of a key that a query does not see.
float no_score() {
    return uintBitsToFloat(0xFF800000U);
}

// Three tiles: [depth][own rows in fours]; [depth][other rows in fours], and then the weights as
// [other row][own rows in fours]; [other row][columns in fours].
const uint left_tile = 0U;
const uint right_tile = tile_side * tile_row_quads;
const uint value_tile = right_tile + tile_side * max_quads;
shared vec4 tiles[value_tile + tile_side * side_quads];

// Of a tile, own rows by four of the other side.
vec4 product[thread_rows];
vec4 weights[thread_rows];

Words table() {
    return Words(packUint2x32(uvec2(push.word[2], push.word[3])));
}

// A tensor of one key head.
struct Matrix {
    uint64_t address;
    uint rows;   // That exist; after them are zeros.
    uint width;  // Words of a row.
};

// What this workgroup works on.
struct Work {
    uint individual;
    uint head;
    uint tile;
    int keys;  // That count.
};

Work work() {
    Work result;
    uint number = group();
    // Tiles with the longest walk begin first.
    result.tile = number % push.word[7];
    if (last_tile_first) result.tile = push.word[7] - 1U - result.tile;
    number /= push.word[7];
    result.head = number % table().at[table_heads];
    result.individual = number / table().at[table_heads];
    result.keys = int(table().at[table_keys]);
    if ((table().at[table_flags] & flag_valid) != 0U) {
        uint stride = table().at[table_strides + tensor_valid];
        uint64_t address = packUint2x32(uvec2(push.word[0], push.word[1])) +
                           4UL * uint64_t(result.individual) * uint64_t(stride);
        result.keys = clamp(Integers(address).at[0], 0, result.keys);
    }
    return result;
}

// The rows of a tensor that belong to the key head, of which the first `rows` count.
Matrix matrix(uint tensor, Work here, uint stored_rows, uint rows, uint width) {
    uint64_t first = uint64_t(here.individual) * uint64_t(table().at[table_strides + tensor]) +
                     uint64_t(here.head) * uint64_t(stored_rows * width);
    return Matrix(push.address[tensor] + 4UL * first, rows, width);
}

// A query sees the keys below this one; rows that do not exist see none.
int seen_keys(uint row, int keys) {
    if (row >= table().at[table_rows]) return 0;
    if ((table().at[table_flags] & flag_causal) == 0U) return keys;
    int queries = int(table().at[table_queries]);
    return clamp(int(row % uint(queries)) + 1 + keys - queries, 0, keys);
}

// What any of `count` queries from `first` on sees.
int seen_keys_of(uint first, uint count, int keys) {
    uint last = min(first + count, table().at[table_rows]) - 1U;
    uint queries = table().at[table_queries];
    return first / queries == last / queries ? seen_keys(last, keys) : keys;
}

float scale() {
    return uintBitsToFloat(table().at[table_scale]);
}

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
