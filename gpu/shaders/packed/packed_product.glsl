// The right matrix of an individual in a product with codes (matmul/matmul.glsl).
PackedRows packed_rows(uint individual) {
    return PackedRows(push.address[1] + individual_bytes(individual, push.word[7]),
                      push.address[6] + individual_bytes(individual, push.word[12]),
                      push.address[7] + individual_bytes(individual, push.word[14]), push.word[2]);
}
