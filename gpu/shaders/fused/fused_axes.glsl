// Where the views of a fusion group stand at a position of nested loops. The text before this one defines
//   CAMBRIAN_VIEWS  how many views there are: the result, then the operands
// Push: address 7 is a table of {extent, its magic numbers, strides of the views} for each axis, the
// innermost first.

// n / extent by a multiplication (Granlund and Montgomery, 1994): integers divide slowly.
uint quotient(uint n, uint magic, uint shifts) {
    uint high;
    uint low;
    umulExtended(n, magic, high, low);
    return (high + ((n - high) >> (shifts & 255U))) >> (shifts >> 8);
}

void add_offsets(uint position, uint axes, inout uint offsets[CAMBRIAN_VIEWS]) {
    Words table = Words(push.address[7]);
    for (uint axis = 0U; axis < axes; ++axis) {
        uint at = axis * (CAMBRIAN_VIEWS + 3U);
        // The outermost axis may count individuals: it ends where the positions end.
        uint outer = axis + 1U < axes
                         ? quotient(position, table.at[at + 1U], table.at[at + 2U])
                         : 0U;
        uint index = position - outer * table.at[at];
        [[unroll]] for (uint view = 0U; view < CAMBRIAN_VIEWS; ++view)
            offsets[view] += index * table.at[at + 3U + view];
        position = outer;
    }
}
