// A fusion group of elementwise ops over nested loops of any strides (gpu/kernels/fused/fused.cpp). The
// text before this one is fused_axes.glsl and
//   uint fused(uint[])  the word of the result from the words of the operands
// Push: addresses {result, operands .., table at 7}; words {items, items in a row, its magic numbers,
// outer axes, inner strides of the views, numbers of the fusion group}.

// Words of one item: 4 where rows are whole, aligned vectors, else 1.
layout(constant_id = 1) const uint width = 1U;
// Items of one invocation.
layout(constant_id = 2) const uint items_each = 1U;

void find_offsets(uint item, out uint offsets[CAMBRIAN_VIEWS]) {
    uint outer_axes = push.word[4];
    uint outer = outer_axes == 0U ? 0U : quotient(item, push.word[2], push.word[3]);
    uint position = (item - outer * push.word[1]) * width;
    [[unroll]] for (uint view = 0U; view < CAMBRIAN_VIEWS; ++view)
        offsets[view] = position * push.word[5U + view];
    add_offsets(outer, outer_axes, offsets);
}

uvec4 load_vector(uint view, uint offset) {
    if (push.word[5U + view] == 0U) return uvec4(Words(push.address[view]).at[offset]);
    return Words4(push.address[view]).at[offset / 4U];
}

void store_word(uint offsets[CAMBRIAN_VIEWS]) {
    uint words[CAMBRIAN_VIEWS];
    [[unroll]] for (uint view = 1U; view < CAMBRIAN_VIEWS; ++view)
        words[view] = Words(push.address[view]).at[offsets[view]];
    Words(push.address[0]).at[offsets[0]] = fused(words);
}

void store_vector(uint offsets[CAMBRIAN_VIEWS]) {
    uvec4 vectors[CAMBRIAN_VIEWS];
    [[unroll]] for (uint view = 1U; view < CAMBRIAN_VIEWS; ++view)
        vectors[view] = load_vector(view, offsets[view]);
    [[unroll]] for (uint lane = 0U; lane < 4U; ++lane) {
        uint words[CAMBRIAN_VIEWS];
        [[unroll]] for (uint view = 1U; view < CAMBRIAN_VIEWS; ++view)
            words[view] = vectors[view][lane];
        vectors[0][lane] = fused(words);
    }
    Words4(push.address[0]).at[offsets[0] / 4U] = vectors[0];
}

void main() {
    uint first = group() * gl_WorkGroupSize.x * items_each + gl_LocalInvocationID.x;
    [[unroll]] for (uint i = 0U; i < items_each; ++i) {
        uint item = first + i * gl_WorkGroupSize.x;
        if (item >= push.word[0]) return;
        uint offsets[CAMBRIAN_VIEWS];
        find_offsets(item, offsets);
        if (width == 1U) {
            store_word(offsets);
        } else {
            store_vector(offsets);
        }
    }
}
