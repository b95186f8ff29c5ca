// What the kernels of running sums share. Places are counted from where a sum starts: the end of the
// axis when it is reversed.
layout(constant_id = 1) const bool real_elements = true;

const uint exclusive = 1U;
const uint reversed = 2U;
const uint totals_only = 4U;  // One sum for each part goes out.
const uint has_offsets = 8U;  // The sums of all parts before a part come in.

bool has(uint flags, uint flag) {
    return (flags & flag) != 0U;
}

// Adds to any number without a change to its bits: 0 would turn -0 into 0.
const uint nothing = real_elements ? sign_mask : 0U;

uint add_words(uint a, uint b) {
    uint real_sum = floatBitsToUint(op_add(uintBitsToFloat(a), uintBitsToFloat(b)));
    return real_elements ? real_sum : a + b;
}
