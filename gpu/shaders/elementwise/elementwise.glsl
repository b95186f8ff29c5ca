// One result word from up to three operand words, over nested loops of any strides (gpu/kernels/
// walk.hpp). The text before this one (gpu/codegen/word_functions.cpp) defines
//   uint apply(uint, uint, uint)  the result of their words, by constant 3 or by the function
// Push: addresses {result, operands, -, -, -, table}; words {items, items in a row, outer axes, function,
// inner strides of result and operands}. The table holds {extent, strides} of the outer axes, the
// innermost of them first.

// Words of one item: 4 where rows are whole, aligned vectors, else 1.
layout(constant_id = 1) const uint width = 1U;
layout(constant_id = 2) const uint operands = 1U;

uvec4 strides_of_axis(Words table, uint axis) {
    uint at = 5U * axis + 1U;
    return uvec4(table.at[at], table.at[at + 1U], table.at[at + 2U], table.at[at + 3U]);
}

uvec4 offsets_of(uint item, uvec4 inner) {
    uint outer_axes = push.word[2];
    if (outer_axes == 0U) return item * width * inner;
    uint rest = item / push.word[1];
    uvec4 offsets = (item - rest * push.word[1]) * width * inner;
    Words table = Words(push.address[7]);
    for (uint axis = 0U; axis + 1U < outer_axes; ++axis) {
        uint extent = table.at[5U * axis];
        uint outer = rest / extent;
        offsets += (rest - outer * extent) * strides_of_axis(table, axis);
        rest = outer;
    }
    return offsets + rest * strides_of_axis(table, outer_axes - 1U);
}

uint load(uint view, uint offset) {
    return Words(push.address[view]).at[offset];
}
uvec4 load_vector(uint view, uint offset, uint stride) {
    if (stride == 0U) return uvec4(load(view, offset));
    return Words4(push.address[view]).at[offset / 4U];
}

void store_word(uvec4 offsets) {
    uint a = load(1U, offsets.y);
    uint b = 0U;
    uint c = 0U;
    if (operands > 1U) b = load(2U, offsets.z);
    if (operands > 2U) c = load(3U, offsets.w);
    Words(push.address[0]).at[offsets.x] = apply(a, b, c);
}

void store_vector(uvec4 offsets, uvec4 inner) {
    uvec4 a = load_vector(1U, offsets.y, inner.y);
    uvec4 b = uvec4(0U);
    uvec4 c = uvec4(0U);
    if (operands > 1U) b = load_vector(2U, offsets.z, inner.z);
    if (operands > 2U) c = load_vector(3U, offsets.w, inner.w);
    Words4(push.address[0]).at[offsets.x / 4U] =
        uvec4(apply(a.x, b.x, c.x), apply(a.y, b.y, c.y), apply(a.z, b.z, c.z),
              apply(a.w, b.w, c.w));
}

void main() {
    uint item = group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (item >= push.word[0]) return;
    uvec4 inner = uvec4(push.word[4], push.word[5], push.word[6], push.word[7]);
    uvec4 offsets = offsets_of(item, inner);
    if (width == 1U) {
        store_word(offsets);
    } else {
        store_vector(offsets, inner);
    }
}
