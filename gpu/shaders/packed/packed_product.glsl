// The codes of the right matrix of a product (matmul/matmul.glsl).
PackedRows packed_rows(Product product) {
    return PackedRows(product.right, product.bias, product.zero_points, push.word[2]);
}
