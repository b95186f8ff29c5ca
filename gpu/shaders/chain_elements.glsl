// A chain of elementwise ops over nested loops of any strides (gpu/kernels/chain.cpp). The text
// before this one defines
//   CAMBRIAN_VIEWS     how many views there are: the result, then the operands
//   uint chain(uint[]) the word of the result from the words of the operands
// Push: addresses {result, operands .., table at 7}; words {items, items in a row, outer axes, -,
// inner strides of the views}. The table holds {extent, strides of the views} of the outer axes,
// the innermost of them first.

// Words of one item: 4 where rows are whole, aligned vectors, else 1.
layout(constant_id = 1) const uint width = 1U;

void find_offsets(uint item, out uint offsets[CAMBRIAN_VIEWS]) {
    uint outer_axes = push.word[2];
    uint rest = outer_axes == 0U ? 0U : item / push.word[1];
    uint position = (item - rest * push.word[1]) * width;
    [[unroll]] for (uint view = 0U; view < CAMBRIAN_VIEWS; ++view)
        offsets[view] = position * push.word[4U + view];
    Words table = Words(push.address[7]);
    for (uint axis = 0U; axis < outer_axes; ++axis) {
        uint at = axis * (CAMBRIAN_VIEWS + 1U);
        uint outer = axis + 1U < outer_axes ? rest / table.at[at] : 0U;
        uint index = rest - outer * table.at[at];
        [[unroll]] for (uint view = 0U; view < CAMBRIAN_VIEWS; ++view)
            offsets[view] += index * table.at[at + 1U + view];
        rest = outer;
    }
}

uvec4 load_vector(uint view, uint offset) {
    if (push.word[4U + view] == 0U) return uvec4(Words(push.address[view]).at[offset]);
    return Words4(push.address[view]).at[offset / 4U];
}

void store_word(uint offsets[CAMBRIAN_VIEWS]) {
    uint words[CAMBRIAN_VIEWS];
    [[unroll]] for (uint view = 1U; view < CAMBRIAN_VIEWS; ++view)
        words[view] = Words(push.address[view]).at[offsets[view]];
    Words(push.address[0]).at[offsets[0]] = chain(words);
}

void store_vector(uint offsets[CAMBRIAN_VIEWS]) {
    uvec4 vectors[CAMBRIAN_VIEWS];
    [[unroll]] for (uint view = 1U; view < CAMBRIAN_VIEWS; ++view)
        vectors[view] = load_vector(view, offsets[view]);
    [[unroll]] for (uint lane = 0U; lane < 4U; ++lane) {
        uint words[CAMBRIAN_VIEWS];
        [[unroll]] for (uint view = 1U; view < CAMBRIAN_VIEWS; ++view)
            words[view] = vectors[view][lane];
        vectors[0][lane] = chain(words);
    }
    Words4(push.address[0]).at[offsets[0] / 4U] = vectors[0];
}

void main() {
    uint item = group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (item >= push.word[0]) return;
    uint offsets[CAMBRIAN_VIEWS];
    find_offsets(item, offsets);
    if (width == 1U) {
        store_word(offsets);
    } else {
        store_vector(offsets);
    }
}
