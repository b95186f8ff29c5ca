// The tiles of matmul_cooperative.comp: how they are cut, and their way from memory through registers
// to shared memory. A line of a tile is what follows each other in memory: k of one row (or column),
// or rows (or columns) of one k.

layout(constant_id = 1) const uint tile_rows = 128;
layout(constant_id = 2) const uint tile_columns = 128;
layout(constant_id = 3) const uint tile_depth = 32;
layout(constant_id = 4) const uint part_rows = 64;  // Of the tile, for a subgroup.
layout(constant_id = 5) const uint part_columns = 64;
layout(constant_id = 6) const uint left_load = 0;  // Bits below.
layout(constant_id = 7) const uint right_load = 0;
layout(constant_id = 8) const uint with_activation = 0;  // 1: a common one, 2: any.
layout(constant_id = 9) const uint result_is_codes = 0;
layout(constant_id = 10) const uint stages = 2;  // Tiles of an operand in shared memory.

const uint load_along_k = 1U;   // Lines run along k.
const uint load_vectors = 2U;   // Lines are whole vectors, each read in one load of 16 bytes.

const uint parts_across = tile_columns / part_columns;
const uint parts = tile_rows / part_rows * parts_across;
const uint threads = 32U * parts;
const uint vector_codes = 8U;  // In 16 bytes.

const bool left_along_k = (left_load & load_along_k) != 0U;
const bool right_along_k = (right_load & load_along_k) != 0U;
const uint left_lines = left_along_k ? tile_rows : tile_depth;
const uint right_lines = right_along_k ? tile_columns : tile_depth;
const uint left_width = (left_along_k ? tile_depth : tile_rows) / vector_codes;
const uint right_width = (right_along_k ? tile_depth : tile_columns) / vector_codes;
// One vector more: eight lines in a row start in different banks.
const uint left_stride = left_width + 1U;
const uint right_stride = right_width + 1U;
const uint left_vectors = left_lines * left_width;
const uint right_vectors = right_lines * right_width;
const uint left_loads = (left_vectors + threads - 1U) / threads;
const uint right_loads = (right_vectors + threads - 1U) / threads;
const uint right_base = left_lines * left_stride;
const uint stage_vectors = right_base + right_lines * right_stride;

// Sums of 16 rows of a subgroup's part, before they are stored.
const uint scratch_stride = part_columns / 4U + 1U;
const uint scratch_vectors = 16U * scratch_stride;
const uint tile_vectors = stages * stage_vectors;
const uint all_scratch = parts * scratch_vectors;
shared uvec4 tiles[tile_vectors > all_scratch ? tile_vectors : all_scratch];

uvec4 left_next[left_loads];
uvec4 right_next[right_loads];

// Where the fragment of 16 rows (or columns) by 16 k starts.
uint left_slot(uint stage, uint row, uint depth) {
    return stage * stage_vectors + (left_along_k ? row * left_stride + depth / vector_codes
                                                 : depth * left_stride + row / vector_codes);
}

uint right_slot(uint stage, uint column, uint depth) {
    return stage * stage_vectors + right_base +
           (right_along_k ? column * right_stride + depth / vector_codes
                          : depth * right_stride + column / vector_codes);
}

// Eight codes of a line from `first` on; zeros after the last one.
uvec4 load_line(uint64_t address, uint line, uint length, uint first) {
    uvec4 vector = uvec4(0U);
    uint line_words = (length + 1U) / 2U;
    Words words = Words(address);
    [[unroll]] for (uint i = 0U; i < 4U; ++i) {
        uint code = first + 2U * i;
        if (code < length) {
            uint word = words.at[line * line_words + code / 2U];
            vector[i] = code + 1U < length ? word : word & 0xffffU;
        }
    }
    return vector;
}

// A vector of a tile. Lines and codes after the last k are zeros, those after the last row (or
// column) whatever: nothing is stored for them.
uvec4 load_vector(uint64_t address, uint load, uvec2 position, uint first_row, uint rows,
                  uint first_depth) {
    bool along_k = (load & load_along_k) != 0U;
    uint line = position.x + (along_k ? first_row : first_depth);
    uint code = vector_codes * position.y + (along_k ? first_depth : first_row);
    uint length = along_k ? push.word[2] : rows;
    if (along_k) {
        line = min(line, rows - 1U);
    } else if (line >= push.word[2]) {
        return uvec4(0U);
    }
    if ((load & load_vectors) == 0U) {
        return load_line(address, line, length, code);
    }
    if (code >= length) {
        return uvec4(0U);
    }
    uint at = line * (length / 2U) + code / 2U;
    return Words4(address + 4UL * uint64_t(at)).at[0];
}

void load_tiles(Product product, uvec2 first, uint first_depth) {
    uint thread = gl_LocalInvocationIndex;
    [[unroll]] for (uint i = 0U; i < left_loads; ++i) {
        uint vector = thread + i * threads;
        if (left_vectors % threads == 0U || vector < left_vectors) {
            left_next[i] = load_vector(product.left, left_load,
                                       uvec2(vector / left_width, vector % left_width), first.x,
                                       push.word[0], first_depth);
        }
    }
    [[unroll]] for (uint i = 0U; i < right_loads; ++i) {
        uint vector = thread + i * threads;
        if (right_vectors % threads == 0U || vector < right_vectors) {
            right_next[i] = load_vector(product.right, right_load,
                                        uvec2(vector / right_width, vector % right_width), first.y,
                                        push.word[1], first_depth);
        }
    }
}

void store_tiles(uint stage) {
    uint thread = gl_LocalInvocationIndex;
    uint base = stage * stage_vectors;
    [[unroll]] for (uint i = 0U; i < left_loads; ++i) {
        uint vector = thread + i * threads;
        if (left_vectors % threads == 0U || vector < left_vectors) {
            tiles[base + vector / left_width * left_stride + vector % left_width] = left_next[i];
        }
    }
    [[unroll]] for (uint i = 0U; i < right_loads; ++i) {
        uint vector = thread + i * threads;
        if (right_vectors % threads == 0U || vector < right_vectors) {
            tiles[base + right_base + vector / right_width * right_stride + vector % right_width] =
                right_next[i];
        }
    }
}
