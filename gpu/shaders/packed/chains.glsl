// The order of long sums of packed products in fast math: k is cut into pieces, a chain is every fourth piece of a
// group, added up from 0, and chains are added in their order. One chain of thousands of additions takes longer than
// to read the matrix, and four neighbours that read a piece each read whole lines of memory. Sums shorter than
// gpu/kernels/matmul/packed_chains.hpp says are one chain.

const uint piece = 32U;  // Numbers, as many as share a scale.
const uint chains = 4U;  // Of a group.
const uint chain_pieces = 8U;
const uint group_numbers = chains * chain_pieces * piece;

// First k of a piece of a chain.
uint piece_begin(uint group_index, uint chain, uint index) {
    return group_index * group_numbers + (index * chains + chain) * piece;
}
