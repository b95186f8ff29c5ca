#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/graph/builders/index.hpp"
#include "cambrian/engine/graph/builders/movement.hpp"
#include "cambrian/engine/graph/builders/reduce.hpp"
#include "cambrian/engine/graph/rules/op_rules.hpp"

// Rules of running sums, orders and elements by index along an axis.
namespace cambrian {
namespace {

/// Operand and indices agree in all axes but the one that is indexed.
void check_beside_axis(const Shape& operand, const Shape& indices, int axis) {
    if (indices.rank() != operand.rank() ||
        shape_rule::with_extent(indices, axis, operand[axis]) != operand)
        reject("the indices " + indices.text() + " differ beside axis " + std::to_string(axis),
               "pass indices with the operand's other extents");
}

ValueType indexed_type(const OperandInfos& operands) {
    if (operands[1].type != ValueType::integer)
        reject("an index is " + std::string(name(operands[1].type)) + ", not integer",
               "convert it with cast");
    return operands[0].type;
}

/// The upstream of the values goes back to the elements that they are.
void ordered_gradient(GradientContext& c, int axis) {
    c.accumulate(0, cambrian::scatter_add_along_axis(c.upstream(0), c.result(1),
                                                     c.operand().shape()[axis], axis));
}

}  // namespace

Shape shape_rule::cumsum(const OperandInfos& operands, const Attributes& attributes, std::size_t) {
    check_axis(operands[0].shape, attribute<CumsumAttribute>(attributes).axis);
    return operands[0].shape;
}

Shape shape_rule::sort(const OperandInfos& operands, const Attributes& attributes, std::size_t) {
    const Shape& shape = operands[0].shape;
    const int axis = attribute<SortAttribute>(attributes).axis;
    check_axis(shape, axis);
    check_positions(shape[axis]);
    return shape;
}

Shape shape_rule::topk(const OperandInfos& operands, const Attributes& attributes, std::size_t) {
    const auto& [axis, count] = attribute<TopkAttribute>(attributes);
    const Shape& shape = operands[0].shape;
    check_axis(shape, axis);
    check_positions(shape[axis]);
    if (count < 0 || count > shape[axis])
        reject("axis " + std::to_string(axis) + " does not have " + std::to_string(count) +
                   " elements to take",
               "take from 0 to " + std::to_string(shape[axis]));
    return with_extent(shape, axis, count);
}

Shape shape_rule::flip(const OperandInfos& operands, const Attributes& attributes, std::size_t) {
    check_axis(operands[0].shape, attribute<AxisAttribute>(attributes).axis);
    return operands[0].shape;
}

Shape shape_rule::take_along_axis(const OperandInfos& operands, const Attributes& attributes,
                                  std::size_t) {
    const int axis = attribute<AxisAttribute>(attributes).axis;
    const Shape& shape = operands[0].shape;
    const Shape& indices = operands[1].shape;
    check_axis(shape, axis);
    check_beside_axis(shape, indices, axis);
    check_target(shape[axis], indices);
    return indices;
}

Shape shape_rule::scatter_add_along_axis(const OperandInfos& operands, const Attributes& attributes,
                                         std::size_t) {
    const auto& [axis, extent] = attribute<ScatterAlongAttribute>(attributes);
    const Shape& shape = operands[0].shape;
    const Shape& indices = operands[1].shape;
    check_axis(shape, axis);
    if (indices != shape)
        reject("the indices " + indices.text() + " are not of the shape of the values",
               "pass one index for each value");
    check_target(extent, indices);
    return with_extent(shape, axis, extent);
}

ValueType type_rule::sort(const OperandInfos& operands, const Attributes& attributes,
                          std::size_t result) {
    return result == 0 ? numeric(operands, attributes, 0) : ValueType::integer;
}

ValueType type_rule::topk(const OperandInfos& operands, const Attributes& attributes,
                          std::size_t result) {
    return sort(operands, attributes, result);
}

ValueType type_rule::take_along_axis(const OperandInfos& operands, const Attributes&, std::size_t) {
    return indexed_type(operands);
}

ValueType type_rule::scatter_add_along_axis(const OperandInfos& operands, const Attributes&,
                                            std::size_t) {
    if (operands[0].type == ValueType::boolean)
        reject("booleans cannot be added", "convert them with cast");
    return indexed_type(operands);
}

void gradient_rule::cumsum(GradientContext& c) {
    const auto& [axis, exclusive, reverse] = attribute<CumsumAttribute>(c.attributes());
    c.accumulate(0, cambrian::cumsum(c.upstream(), axis, exclusive, !reverse));
}

void gradient_rule::sort(GradientContext& c) {
    ordered_gradient(c, attribute<SortAttribute>(c.attributes()).axis);
}

void gradient_rule::topk(GradientContext& c) {
    ordered_gradient(c, attribute<TopkAttribute>(c.attributes()).axis);
}

void gradient_rule::flip(GradientContext& c) {
    c.accumulate(0, cambrian::flip(c.upstream(), attribute<AxisAttribute>(c.attributes()).axis));
}

void gradient_rule::take_along_axis(GradientContext& c) {
    const int axis = attribute<AxisAttribute>(c.attributes()).axis;
    c.accumulate(0, cambrian::scatter_add_along_axis(c.upstream(), c.operand(1),
                                                     c.operand(0).shape()[axis], axis));
}

void gradient_rule::scatter_add_along_axis(GradientContext& c) {
    const int axis = attribute<ScatterAlongAttribute>(c.attributes()).axis;
    c.accumulate(0, cambrian::take_along_axis(c.upstream(), c.operand(1), axis));
}

std::vector<Var> lower_topk(Graph&, std::span<const Var> operands, const Attributes& attributes) {
    const auto& [axis, count] = attribute<TopkAttribute>(attributes);
    const Ordered all = sort(operands[0], axis, true);
    return {slice(all.values, axis, 0, count), slice(all.indices, axis, 0, count)};
}

}  // namespace cambrian
