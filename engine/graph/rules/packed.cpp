#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "cambrian/engine/graph/packed_rows.hpp"
#include "cambrian/engine/graph/rules/op_rules.hpp"

// Rules of matrices in codes.
namespace cambrian {
namespace {

/// Operands from `first` on: words, scales, zero points.
constexpr std::array<std::string_view, 3> part_names{"words", "scales", "zero points"};

void check_packed_part(const OperandInfos& operands, std::size_t first, std::size_t part,
                       std::int64_t expected) {
    const Shape& shape = operands[first + part].shape;
    const Shape& words = operands[first].shape;
    const Shape wanted = shape_rule::with_extent(words, words.rank() - 1, expected);
    if (shape != wanted)
        reject(std::string(part_names[part]) + " are " + shape.text() + " where " + wanted.text() +
                   " is needed",
               "pass the parts of one packed matrix");
}

/// The shape of the matrix whose parts begin at an operand.
Shape matrix_shape(const OperandInfos& operands, std::size_t first, const PackedAttribute& packed) {
    if (!can_pack(packed.dtype))
        reject(
            std::string(name(packed.dtype)) + " is not packed (its codes have more than 16 bits)",
            "pass the numbers themselves");
    if (packed.scales && (!takes_scales(packed.dtype) || (*packed.scales != ScaleGroup::row &&
                                                          *packed.scales != ScaleGroup::block)))
        reject(std::string(name(packed.dtype)) + " has no scales of a " +
                   std::string(scale_group_names[static_cast<std::size_t>(*packed.scales)]),
               "pass scales of rows or blocks, of a format that takes them");
    const std::size_t parts = packed_operands(packed.dtype);
    if (operands.size() != first + parts)
        reject("a matrix in " + std::string(name(packed.dtype)) + " has " + std::to_string(parts) +
                   " parts, not " + std::to_string(operands.size() - first),
               "pass words, scales and zero points where the format has them");
    const Shape& words = operands[first].shape;
    if (words.rank() == 0) reject("words have no last axis", "reshape them to rank 1 or more");
    if (packed.length < 0) reject("a length is below zero", "pass the numbers of a row");
    check_packed_part(operands, first, 0, packed_words(packed));
    if (parts > 1) check_packed_part(operands, first, 1, scales_of_row(packed));
    if (parts > 2) check_packed_part(operands, first, 2, zero_point_words(packed));
    return shape_rule::with_extent(words, words.rank() - 1, packed.length);
}

void check_packed_types(const OperandInfos& operands, std::size_t first) {
    if (operands.size() <= first) reject("it lacks operands", "pass the parts of a packed matrix");
    if (operands[first].type != ValueType::integer)
        reject("codes are words, not " + std::string(name(operands[first].type)), "pass integers");
    const std::size_t zero_points = first + 2;
    for (std::size_t i = 0; i < operands.size(); ++i) {
        if (i == first) continue;
        if (i == zero_points && operands[i].type != ValueType::integer)
            reject("zero points are codes, not " + std::string(name(operands[i].type)),
                   "pass integers");
        if (i != zero_points && operands[i].type != ValueType::real)
            reject("numbers are needed, not " + std::string(name(operands[i].type)),
                   "pass real operands beside the codes");
    }
}

}  // namespace

Shape shape_rule::packed_matrix(const OperandInfos& operands, std::size_t first,
                                const PackedAttribute& packed) {
    if (operands.size() <= first) reject("it lacks operands", "pass the parts of a packed matrix");
    const std::size_t parts = first + packed_operands(packed.dtype);
    check_packed_types(operands.first(std::min(operands.size(), parts)), first);
    return matrix_shape(operands.first(std::min(operands.size(), parts)), first, packed);
}

Shape shape_rule::unpack(const OperandInfos& operands, const Attributes& attributes, std::size_t) {
    if (operands.size() == 0) reject("it has no operands", "pass words");
    return matrix_shape(operands, 0, attribute<PackedAttribute>(attributes));
}

ValueType type_rule::unpack(const OperandInfos& operands, const Attributes&, std::size_t) {
    check_packed_types(operands, 0);
    return ValueType::real;
}

Shape shape_rule::packed_matmul(const OperandInfos& operands, const Attributes& attributes,
                                std::size_t) {
    return packed_product_shape(operands, attribute<PackedAttribute>(attributes), false);
}

Shape shape_rule::packed_product_shape(const OperandInfos& operands, const PackedAttribute& packed,
                                       bool transposed) {
    if (operands.size() < 2) reject("it lacks operands", "pass rows and a packed matrix");
    const Shape matrix = matrix_shape(operands, 1, packed);
    Shape x = operands[0].shape;
    if (transposed && x.rank() >= 2)
        x = with_extent(with_extent(x, x.rank() - 1, operands[0].shape[-2]), x.rank() - 2,
                        operands[0].shape[-1]);
    if (matrix.rank() != 2)
        reject("the packed matrix has rank " + std::to_string(matrix.rank()), "pass one of rank 2");
    if (x.rank() < 2 || x[-1] != packed.length)
        reject("rows are " + x.text() + " where the matrix has rows of " +
                   std::to_string(packed.length),
               "pass [.., m, k] with the k of the matrix");
    return with_extent(x, x.rank() - 1, matrix[0]);
}

ValueType type_rule::packed_matmul(const OperandInfos& operands, const Attributes&, std::size_t) {
    check_packed_types(operands, 1);
    return ValueType::real;
}

std::vector<Var> lower_packed_matmul(Graph& graph, std::span<const Var> operands,
                                     const Attributes& attributes) {
    const Var matrix = graph.add(Op::unpack, operands.subspan(1), attributes);
    const std::array product{operands[0], matrix};
    return {graph.add(Op::matmul, product, MatmulAttribute{.transpose_right = true})};
}

}  // namespace cambrian
