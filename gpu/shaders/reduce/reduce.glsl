// Folds of one axis: what a running result is, and how two of them become one. Sums are the sum's
// word. The largest element is kept as an unsigned number of the same order and its index, so that
// of equal elements (two zeros too) the first one wins in any order of folding.

// What is folded: 0 sum, 1 largest element, 2 its index.
layout(constant_id = 1) const uint fold_kind = 0U;
layout(constant_id = 2) const bool real_elements = true;
const bool sums = fold_kind == 0U;
const bool largest = fold_kind == 1U;

// NaN is below everything: it never wins a comparison. Both zeros are one number.
uint order_of(uint word) {
    if (!real_elements) return word ^ sign_mask;
    uint bits = (word & magnitude_mask) == 0U ? 0U : word;
    uint ordered = bits >= sign_mask ? ~bits : bits | sign_mask;
    return (bits & magnitude_mask) > exponent_mask ? 0U : ordered;
}

uvec2 fold_start(uint word, uint index) {
    return sums ? uvec2(word, 0U) : uvec2(order_of(word), index);
}

uvec2 fold(uvec2 left, uvec2 right) {
    if (sums) {
        uint real_sum =
            floatBitsToUint(op_add(uintBitsToFloat(left.x), uintBitsToFloat(right.x)));
        return uvec2(real_elements ? real_sum : left.x + right.x, 0U);
    }
    bool takes_right = right.x > left.x || (right.x == left.x && right.y < left.y);
    return takes_right ? right : left;
}

// The word to store, from the fold of elements that lie `stride` words apart from `first`. A NaN as
// the very first element of an axis stays the largest.
uint fold_result(uvec2 folded, Words operand, uint first, uint stride, bool first_of_axis) {
    if (sums) return folded.x;
    uint word = operand.at[first];
    bool stays = first_of_axis && real_elements && (word & magnitude_mask) > exponent_mask;
    uint index = stays ? 0U : folded.y;
    if (fold_kind == 2U) return index;
    return operand.at[first + index * stride];
}
