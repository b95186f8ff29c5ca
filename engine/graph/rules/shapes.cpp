#include <algorithm>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/graph/rules/op_rules.hpp"

// Shape rules of sources, elementwise ops, reductions and contractions.
namespace cambrian::shape_rule {
namespace {

/// Extents under construction.
class Extents {
  public:
    void push(std::int64_t extent) {
        if (rank_ == Shape::max_rank)
            reject("the result would have more than " + std::to_string(Shape::max_rank) + " axes",
                   "merge axes with reshape");
        extents_[static_cast<std::size_t>(rank_++)] = extent;
    }
    void push(std::span<const std::int64_t> extents) {
        for (const std::int64_t extent : extents) push(extent);
    }
    [[nodiscard]] Shape shape() const {
        return Shape(std::span(extents_.data(), static_cast<std::size_t>(rank_)));
    }

  private:
    std::array<std::int64_t, Shape::max_rank> extents_{};
    int rank_ = 0;
};

/// Broadcasts and, on failure, keeps only the reason: the caller lists the operands.
Shape broadcast_or_reject(const Shape& a, const Shape& b) {
    if (a == b) return a;
    for (int back = 1; back <= std::min(a.rank(), b.rank()); ++back)
        if (a[-back] != b[-back] && a[-back] != 1 && b[-back] != 1)
            reject("axis " + std::to_string(-back) + " has extents " + std::to_string(a[-back]) +
                       " and " + std::to_string(b[-back]),
                   "make the extents equal or one of them 1");
    return broadcast_shapes(a, b);
}

std::size_t reduced_axis(const Shape& shape, int axis) {
    check_axis(shape, axis);
    return static_cast<std::size_t>(axis);
}

}  // namespace

Shape input(const OperandInfos&, const Attributes& attributes, std::size_t) {
    return attribute<InputAttribute>(attributes).shape;
}

Shape constant(const OperandInfos&, const Attributes& attributes, std::size_t) {
    const Tensor& value = *attribute<ConstantAttribute>(attributes).value;
    if (static_cast<std::int64_t>(value.elements.size()) != value.shape.elements())
        reject("shape " + value.shape.text() + " does not hold " +
                   std::to_string(value.elements.size()) + " values",
               "pass one value for each element");
    const auto wrong = std::ranges::find_if_not(
        value.elements, [&](double element) { return is_element(value.type, element); });
    if (wrong != value.elements.end())
        reject(std::to_string(*wrong) + " is no " + std::string(name(value.type)),
               value.type == ValueType::integer ? "use whole numbers in 32 bits" : "use 0 and 1");
    return value.shape;
}

Shape iota(const OperandInfos&, const Attributes& attributes, std::size_t) {
    const std::int64_t length = attribute<LengthAttribute>(attributes).length;
    if (length < 0)
        reject("its length " + std::to_string(length) + " is negative", "use 0 or more");
    check_positions(length);
    return Shape{length};
}

Shape random(const OperandInfos& operands, const Attributes& attributes, std::size_t) {
    if (operands[0].shape != Shape{2})
        reject("the key is not of shape [2]", "pass the low and the high word of a random key");
    const std::int64_t draws = attribute<LengthAttribute>(attributes).length;
    if (draws < 0)
        reject("the number of draws " + std::to_string(draws) + " is negative", "use 0 or more");
    Extents extents;
    extents.push(operands[1].shape.extents());
    extents.push(draws);
    return extents.shape();
}

Shape same(const OperandInfos& operands, const Attributes&, std::size_t) {
    return operands[0].shape;
}

Shape broadcast_operands(const OperandInfos& operands, const Attributes&, std::size_t) {
    Shape shape = operands[0].shape;
    for (std::size_t i = 1; i < operands.size(); ++i)
        shape = broadcast_or_reject(shape, operands[i].shape);
    return shape;
}

Shape activate(const OperandInfos& operands, const Attributes&, std::size_t) {
    if (operands[1].shape.rank() != 0)
        reject("the code is not a scalar", "pass an activation code of rank 0");
    return operands[0].shape;
}

Shape reduce(const OperandInfos& operands, const Attributes& attributes, std::size_t) {
    const auto& [axis, keep] = attribute<AxisAttribute>(attributes);
    const Shape& shape = operands[0].shape;
    const std::size_t reduced = reduced_axis(shape, axis);
    Extents extents;
    extents.push(shape.extents().first(reduced));
    if (keep) extents.push(1);
    extents.push(shape.extents().subspan(reduced + 1));
    return extents.shape();
}

Shape reduce_nonempty(const OperandInfos& operands, const Attributes& attributes,
                      std::size_t result) {
    const Shape shape = reduce(operands, attributes, result);
    const int axis = attribute<AxisAttribute>(attributes).axis;
    if (operands[0].shape[axis] == 0)
        reject("axis " + std::to_string(axis) + " is empty",
               "reduce an axis with at least one element");
    return shape;
}

Shape argmax(const OperandInfos& operands, const Attributes& attributes, std::size_t result) {
    const Shape shape = reduce_nonempty(operands, attributes, result);
    check_positions(operands[0].shape[attribute<AxisAttribute>(attributes).axis]);
    return shape;
}

Shape matmul(const OperandInfos& operands, const Attributes& attributes, std::size_t) {
    const auto& [transpose_left, transpose_right] = attribute<MatmulAttribute>(attributes);
    const Shape& left = operands[0].shape;
    const Shape& right = operands[1].shape;
    if (left.rank() < 2 || right.rank() < 2)
        reject("both operands need at least two axes",
               "reshape a vector to a matrix with one row or column");
    const std::int64_t left_inner = left[transpose_left ? -2 : -1];
    const std::int64_t right_inner = right[transpose_right ? -1 : -2];
    if (left_inner != right_inner)
        reject("the inner extents " + std::to_string(left_inner) + " and " +
                   std::to_string(right_inner) + " differ",
               "transpose an operand or change its extents");
    const auto batch = [](const Shape& shape) {
        return Shape(shape.extents().first(static_cast<std::size_t>(shape.rank() - 2)));
    };
    Extents extents;
    extents.push(broadcast_or_reject(batch(left), batch(right)).extents());
    extents.push(left[transpose_left ? -1 : -2]);
    extents.push(right[transpose_right ? -2 : -1]);
    return extents.shape();
}

Shape gather(const OperandInfos& operands, const Attributes&, std::size_t) {
    const Shape& table = operands[0].shape;
    if (table.rank() == 0) reject("the table has no rows", "pass a table with a leading row axis");
    check_target(table[0], operands[1].shape);
    Extents extents;
    extents.push(operands[1].shape.extents());
    extents.push(table.extents().subspan(1));
    return extents.shape();
}

Shape scatter_add(const OperandInfos& operands, const Attributes& attributes, std::size_t) {
    const std::int64_t rows = attribute<LengthAttribute>(attributes).length;
    if (rows < 0) reject("the row count " + std::to_string(rows) + " is negative", "use 0 or more");
    const Shape& source = operands[0].shape;
    const Shape& indices = operands[1].shape;
    const auto leading = static_cast<std::size_t>(indices.rank());
    if (source.rank() < indices.rank() ||
        !std::ranges::equal(source.extents().first(leading), indices.extents()))
        reject("the rows do not begin with the axes of the indices", "pass one row for each index");
    check_target(rows, indices);
    Extents extents;
    extents.push(rows);
    extents.push(source.extents().subspan(leading));
    return extents.shape();
}

}  // namespace cambrian::shape_rule
