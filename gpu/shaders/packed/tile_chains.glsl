// The order of chains.glsl in tiles (matmul/matmul_product.glsl): their steps go along one chain after another, and
// the sum of those before lies in the result, where each invocation has elements of its own. Registers for a second
// sum would leave room for fewer workgroups.
#include "cambrian/gpu/shaders/packed/chains.glsl"

#ifdef CAMBRIAN_STRICT
const bool in_chains = false;
#else
const bool in_chains = with_chains == 1U;
#endif

// The number of the chain that has a k.
uint chain_of(uint k) {
    return k / group_numbers * chains + k / piece % chains;
}

// First k of the step after that from k on; steps do not cross pieces.
uint next_depth(uint k) {
    uint next = k + tile_depth;
    if (next % piece != 0U && next < push.word[2]) return next;
    uint in_group = k / group_numbers * group_numbers;
    uint end = min(in_group + group_numbers, push.word[2]);
    next = k / piece * piece + chains * piece;
    if (next < end) return next;
    next = in_group + (k / piece % chains + 1U) * piece;
    return next < min(in_group + chains * piece, end) ? next : in_group + group_numbers;
}

vec4 added(vec4 kept, vec4 sum) {
    precise vec4 result = kept + sum;
    return result;
}

vec4 load_kept(Product product, uint row, uint column) {
    uint at = row * push.word[1] + column;
    if (flagged(flag_aligned_result)) return Reals4(product.result + 4UL * uint64_t(at)).at[0];
    vec4 kept = vec4(0.0F);
    [[unroll]] for (uint i = 0U; i < 4U; ++i) {
        if (column + i < push.word[1]) kept[i] = Reals(product.result).at[at + i];
    }
    return kept;
}

void store_kept(Product product, uint row, uint column, vec4 values) {
    uint at = row * push.word[1] + column;
    if (flagged(flag_aligned_result)) {
        Reals4(product.result + 4UL * uint64_t(at)).at[0] = values;
        return;
    }
    [[unroll]] for (uint i = 0U; i < 4U; ++i) {
        if (column + i < push.word[1]) Reals(product.result).at[at + i] = values[i];
    }
}

// Row and column of the result that a quad of sums begins at.
uvec2 element_of(uint first_row, uint first_column, uvec2 place, uint at) {
    uint row = at / column_quads;
    return uvec2(first_row + 4U * (row / 4U * threads_down + place.x) + row % 4U,
                 first_column + 4U * (at % column_quads * threads_across + place.y));
}

// A chain ends. Half of the rows at a time are on their way from memory: each alone would be waited for.
void keep_sums(Product product, uint first_row, uint first_column, uvec2 place, bool is_first) {
    const uint some = thread_rows / 2U * column_quads;
    [[unroll]] for (uint half_rows = 0U; half_rows < 2U; ++half_rows) {
        vec4 kept[some];
        [[unroll]] for (uint i = 0U; i < some; ++i) {
            uvec2 at = element_of(first_row, first_column, place, half_rows * some + i);
            kept[i] = vec4(0.0F);
            if (!is_first && at.x < push.word[0] && at.y < push.word[1]) kept[i] = load_kept(product, at.x, at.y);
        }
        [[unroll]] for (uint i = 0U; i < some; ++i) {
            uvec2 at = element_of(first_row, first_column, place, half_rows * some + i);
            if (at.x < push.word[0] && at.y < push.word[1])
                store_kept(product, at.x, at.y, added(kept[i], sums[half_rows * some + i]));
            sums[half_rows * some + i] = vec4(0.0F);
        }
    }
}
