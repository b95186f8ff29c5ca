#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cambrian/engine/graph/op.hpp"

// Rows of numbers in the codes of a format of weights: codes from the low bits of a word on, rows
// padded to whole words with zeros. Beside them scales as floats, one for a row or for each of its
// blocks of 32, as the format (engine/weights/dtype.hpp) or the attribute says, and zero points in
// rows of codes of the same format.
namespace cambrian {

/// Whether codes of a format take less memory than float32: those of at most 16 bits. Only these
/// can be packed.
[[nodiscard]] inline bool can_pack(Dtype dtype) {
    return row(dtype).bits <= 16;
}

/// Words of a row of so many codes.
[[nodiscard]] inline std::int64_t packed_words(Dtype dtype, std::int64_t codes) {
    const std::int64_t in_word = 32 / row(dtype).bits;
    return codes / in_word + (codes % in_word != 0 ? 1 : 0);
}
[[nodiscard]] inline std::int64_t packed_words(const PackedAttribute& packed) {
    return packed_words(packed.dtype, packed.length);
}

/// What shares a scale: nothing, a row or a block.
[[nodiscard]] inline ScaleGroup scale_group(const PackedAttribute& packed) {
    return packed.scales.value_or(row(packed.dtype).group);
}

/// Scales of a row: none, one, or one for each block.
[[nodiscard]] inline std::int64_t scales_of_row(const PackedAttribute& packed) {
    const ScaleGroup group = scale_group(packed);
    if (group == ScaleGroup::none) return 0;
    if (group == ScaleGroup::row) return 1;
    return packed.length / scale_block + (packed.length % scale_block != 0 ? 1 : 0);
}

/// Which of them a column has.
[[nodiscard]] inline std::size_t scale_group_of(const PackedAttribute& packed, std::size_t column) {
    return scale_group(packed) == ScaleGroup::block ? column / static_cast<std::size_t>(scale_block)
                                                    : 0;
}

/// Words of the zero points of a row.
[[nodiscard]] inline std::int64_t zero_point_words(const PackedAttribute& packed) {
    return row(packed.dtype).affine ? packed_words(packed.dtype, scales_of_row(packed)) : 0;
}

/// The shape of the weights of a convolution whose operand 1 has this shape: its own, or that of
/// the numbers that it holds the codes of.
[[nodiscard]] inline Shape conv_weights_shape(const ConvAttribute& conv, const Shape& operand) {
    if (!conv.packed) return operand;
    std::vector<std::int64_t> extents{operand[0], conv.packed->length};
    for (int axis = 0; axis < conv.window.rank; ++axis) {
        const std::int64_t taps = conv.window.kernel[static_cast<std::size_t>(axis)];
        extents[1] = taps > 0 ? extents[1] / taps : 0;
        extents.push_back(taps);
    }
    return Shape(std::span<const std::int64_t>(extents));
}

/// Operands of a packed matrix: words, and scales and zero points where the format has them.
[[nodiscard]] inline std::size_t packed_operands(Dtype dtype) {
    const DtypeRow& format = row(dtype);
    return 1 + (format.group == ScaleGroup::none ? 0U : 1U) + (format.affine ? 1U : 0U);
}

}  // namespace cambrian
