// The tiles of attention.glsl: their way from memory to shared memory, and the two products that are
// made of them.

// Four rows of one depth lie in one vector. Quads of different depths are turned against each other,
// so that neighbouring threads write to different banks.
uint turned(uint depth, uint quad, uint quads) {
    return depth * quads + (quad ^ (depth / 4U * 2U & (quads - 1U)));
}

// Row and column of the i-th quad that this thread brings: eight rows and four columns of quads for
// 32 neighbours.
uvec2 turned_position(uint i) {
    uint quad = gl_LocalInvocationIndex + i * threads;
    return uvec2(quad % 8U + quad / (8U * side_quads) * 8U, 4U * (quad / 8U % side_quads));
}

// `quads` times four rows and tile_side columns, into [column][rows in fours].
void load_turned(Matrix from, uint first_row, uint first_column, uint tile, uint quads) {
    vec4 loaded[max_loads];
    [[unroll]] for (uint i = 0U; i < quads * tile_side / threads; ++i) {
        uvec2 at = turned_position(i);
        loaded[i] = load_quad(from, first_row + at.x, first_column + at.y);
    }
    [[unroll]] for (uint i = 0U; i < quads * tile_side / threads; ++i) {
        uvec2 at = turned_position(i);
        [[unroll]] for (uint j = 0U; j < 4U; ++j) {
            tiles[tile + turned(at.y + j, at.x / 4U, quads)][at.x % 4U] = loaded[i][j];
        }
    }
}

// tile_side rows and columns as they are.
void load_values(Matrix from, uint first_row, uint first_column) {
    vec4 loaded[max_loads];
    [[unroll]] for (uint i = 0U; i < side_quads * tile_side / threads; ++i) {
        uint quad = gl_LocalInvocationIndex + i * threads;
        loaded[i] = load_quad(from, first_row + quad / side_quads,
                              first_column + 4U * (quad % side_quads));
    }
    [[unroll]] for (uint i = 0U; i < side_quads * tile_side / threads; ++i) {
        tiles[value_tile + gl_LocalInvocationIndex + i * threads] = loaded[i];
    }
}

void multiply_tiles(uvec2 at) {
    for (uint quad = 0U; quad < side_quads; ++quad) {
        [[unroll]] for (uint j = 0U; j < 4U; ++j) {
            uint depth = 4U * quad + j;
            vec4 right = tiles[right_tile + turned(depth, at.y, side_quads)];
            [[unroll]] for (uint i = 0U; i < row_quads; ++i) {
                vec4 left = tiles[left_tile + turned(depth, i * threads_down + at.x, tile_row_quads)];
                [[unroll]] for (uint r = 0U; r < 4U; ++r) {
                    product[4U * i + r] = fma(vec4(left[r]), right, product[4U * i + r]);
                }
            }
        }
    }
}

// product = rows of left times rows of right. No tile is in use before and after, the value tile
// is not touched.
void multiply(Matrix left, uint first_left, Matrix right, uint first_right, uvec2 at) {
    [[unroll]] for (uint r = 0U; r < thread_rows; ++r) product[r] = vec4(0.0F);
    for (uint depth = 0U; depth < left.width; depth += tile_side) {
        load_turned(left, first_left, depth, left_tile, tile_row_quads);
        load_turned(right, first_right, depth, right_tile, side_quads);
        barrier();
        multiply_tiles(at);
        barrier();
    }
}

// Makes `weights` of all threads the factors of add_weighted.
void share_weights(uvec2 at) {
    [[unroll]] for (uint column = 0U; column < 4U; ++column) {
        [[unroll]] for (uint i = 0U; i < row_quads; ++i) {
            uint slot = turned(4U * at.y + column, i * threads_down + at.x, tile_row_quads);
            tiles[right_tile + slot] =
                vec4(weights[4U * i][column], weights[4U * i + 1U][column],
                     weights[4U * i + 2U][column], weights[4U * i + 3U][column]);
        }
    }
    barrier();
}

// Own rows by four columns of each block of tile_side columns, for each thing that is summed up.
vec4 sums[sum_count * column_blocks * thread_rows];

void add_block(uint first_sum, uvec2 at) {
    for (uint quad = 0U; quad < side_quads; ++quad) {
        [[unroll]] for (uint j = 0U; j < 4U; ++j) {
            uint other = 4U * quad + j;
            vec4 values = tiles[value_tile + other * side_quads + at.y];
            [[unroll]] for (uint i = 0U; i < row_quads; ++i) {
                vec4 factors =
                    tiles[right_tile + turned(other, i * threads_down + at.x, tile_row_quads)];
                [[unroll]] for (uint r = 0U; r < 4U; ++r) {
                    uint sum = first_sum + 4U * i + r;
                    sums[sum] = fma(vec4(factors[r]), values, sums[sum]);
                }
            }
        }
    }
}

// sums of `part` += shared weights times rows of `values`, of which load_values has brought the
// first block. No tile is in use after.
void add_weighted(uint part, Matrix values, uint first_row, uvec2 at) {
    [[unroll]] for (uint block = 0U; block < column_blocks; ++block) {
        uint column = push.word[6] + block * tile_side;
        if (column < values.width) {
            if (block > 0U) {
                barrier();
                load_values(values, first_row, column);
                barrier();
            }
            add_block((part * column_blocks + block) * thread_rows, at);
        }
    }
    barrier();
}

// What an earlier dispatch has summed up, or zeros.
void begin_sums(uint part, Matrix result, uint first_row, uvec2 at) {
    [[unroll]] for (uint block = 0U; block < column_blocks; ++block) {
        uint column = push.word[6] + block * tile_side + 4U * at.y;
        [[unroll]] for (uint r = 0U; r < thread_rows; ++r) {
            uint row = first_row + own_row(r / 4U, at) + r % 4U;
            sums[(part * column_blocks + block) * thread_rows + r] =
                push.word[4] > 0U ? load_quad(result, row, column) : vec4(0.0F);
        }
    }
}

void store_sums(uint part, Matrix result, uint first_row, uvec2 at) {
    [[unroll]] for (uint block = 0U; block < column_blocks; ++block) {
        uint column = push.word[6] + block * tile_side + 4U * at.y;
        [[unroll]] for (uint r = 0U; r < thread_rows; ++r) {
            uint row = first_row + own_row(r / 4U, at) + r % 4U;
            store_quad(result, row, column,
                       sums[(part * column_blocks + block) * thread_rows + r]);
        }
    }
}
