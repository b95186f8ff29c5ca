#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "cambrian/engine/core/elementary.hpp"
#include "cambrian/engine/onnx/node_writer.hpp"

// The table of ops: how each is written. What ONNX has under another name, or in other terms,
// stands here; an op that is missing is refused by name.
namespace cambrian::onnx {
namespace {

using Extents = std::vector<std::int64_t>;
using std::string_view;

Extents extents_of(const Shape& shape) {
    return {shape.extents().begin(), shape.extents().end()};
}

/// One node of the same meaning.
void same(const NodeWriter& node, string_view operation) {
    node.give(node.add(operation, node.all_aligned()));
}

void pass_on(const NodeWriter& node, string_view /*operation*/) {
    node.give(node.place());
}

void constant(const NodeWriter& node, string_view /*operation*/) {
    node.give(Place::of_constant(*node.attribute<ConstantAttribute>().value, "constant"));
}

void iota(const NodeWriter& node, string_view /*operation*/) {
    Tensor numbers(ValueType::integer, Shape{node.attribute<LengthAttribute>().length});
    std::iota(numbers.elements.begin(), numbers.elements.end(), 0.0);
    node.give(Place::of_constant(std::move(numbers), "numbers"));
}

void rsqrt(const NodeWriter& node, string_view /*operation*/) {
    node.give(node.add("Reciprocal", {node.add("Sqrt", {node.name()})}));
}

/// Beyond this angle they stay what they are there, but of infinities, see elementary.inl.
void of_limited_angle(const NodeWriter& node, string_view operation) {
    using elementary::largest_angle;
    Builder& to = node.builder();
    const std::string x = node.name();
    const std::string limited =
        node.add("Clip", {x, to.scalar(-largest_angle), to.scalar(largest_angle)});
    // NaN for infinities, else 0, which taken away leaves a -0 as it is.
    const std::string nothing = node.add("Sub", {x, x});
    node.give(node.add("Sub", {node.add(operation, {limited}), nothing}));
}

/// ln(1 + x), exact near 0: ln(u) x / (u − 1) with u = 1 + x as it is rounded (Goldberg, "What
/// Every Computer Scientist Should Know About Floating-Point Arithmetic", 1991, theorem 4).
void log1p(const NodeWriter& node, string_view /*operation*/) {
    const std::string x = node.name();
    const std::string one = node.builder().scalar(1.0);
    const std::string u = node.add("Add", {x, one});
    const std::string log = node.add("Log", {u});
    const std::string exact =
        node.add("Div", {node.add("Mul", {log, x}), node.add("Sub", {u, one})});
    const std::string large = node.add("Where", {node.add("Equal", {u, x}), log, exact});
    node.give(node.add("Where", {node.add("Equal", {u, one}), x, large}));
}

/// e^x − 1, exact near 0: tanh(x / 2) (e^x + 1).
void expm1(const NodeWriter& node, string_view /*operation*/) {
    const std::string x = node.name();
    const std::string half = node.add("Mul", {x, node.builder().scalar(0.5)});
    const std::string sum = node.add("Add", {node.add("Exp", {x}), node.builder().scalar(1.0)});
    node.give(node.add("Mul", {node.add("Tanh", {half}), sum}));
}

void is_finite(const NodeWriter& node, string_view /*operation*/) {
    const std::string infinite = node.add("IsInf", {node.name()});
    const std::string none = node.add("IsNaN", {node.name()});
    node.give(node.add("Not", {node.add("Or", {infinite, none})}));
}

/// Of booleans, which runtimes do not select, in logic.
void select(const NodeWriter& node, string_view operation) {
    if (node.result().type != ValueType::boolean) return same(node, operation);
    const std::vector<std::string> operands = node.all_aligned();
    const std::string taken = node.add("And", {operands[0], operands[1]});
    const std::string other = node.add("And", {node.add("Not", {operands[0]}), operands[2]});
    node.give(node.add("Or", {taken, other}));
}

void reduce_sum(const NodeWriter& node, string_view operation) {
    const auto& attribute = node.attribute<AxisAttribute>();
    node.give(node.add(operation,
                       {node.name(), node.builder().integers({node.axis(attribute.axis)})},
                       {{"keepdims", std::int64_t{attribute.keep}}}));
}

void reduce_max(const NodeWriter& node, string_view operation) {
    const auto& attribute = node.attribute<AxisAttribute>();
    node.give(node.add(operation, {node.name()},
                       {{"axes", Extents{node.axis(attribute.axis)}},
                        {"keepdims", std::int64_t{attribute.keep}}}));
}

std::string as_int32(const NodeWriter& node, const std::string& value) {
    return node.add("Cast", {value}, {{"to", static_cast<std::int64_t>(ElementType::int32)}});
}

void argmax(const NodeWriter& node, string_view operation) {
    const auto& attribute = node.attribute<AxisAttribute>();
    node.give(as_int32(node, node.add(operation, {node.name()},
                                      {{"axis", node.axis(attribute.axis)},
                                       {"keepdims", std::int64_t{attribute.keep}}})));
}

void cumsum(const NodeWriter& node, string_view operation) {
    const auto& attribute = node.attribute<CumsumAttribute>();
    const std::string axis =
        node.builder().scalar(static_cast<double>(node.axis(attribute.axis)), ElementType::int64);
    node.give(node.add(operation, {node.name(), axis},
                       {{"exclusive", std::int64_t{attribute.exclusive}},
                        {"reverse", std::int64_t{attribute.reverse}}}));
}

/// The first `count` of an axis in order; of equal ones the first stands first, there as here.
void ordered(const NodeWriter& node, int axis, std::int64_t count, bool descending) {
    const std::vector<std::string> both =
        node.builder().add("TopK", {node.name(), node.builder().integers({count})},
                           {{"axis", node.axis(axis)},
                            {"largest", std::int64_t{descending}},
                            {"sorted", std::int64_t{1}}},
                           2);
    node.give(both[0], 0);
    node.give(as_int32(node, both[1]), 1);
}

void sort(const NodeWriter& node, string_view /*operation*/) {
    const auto& attribute = node.attribute<SortAttribute>();
    ordered(node, attribute.axis, node.info().shape[attribute.axis], attribute.descending);
}

void topk(const NodeWriter& node, string_view /*operation*/) {
    const auto& attribute = node.attribute<TopkAttribute>();
    ordered(node, attribute.axis, attribute.count, true);
}

void reshape(const NodeWriter& node, string_view /*operation*/) {
    const Shape& shape = node.result().shape;
    if (const Place& place = node.place(); place.constant) {
        Constant again = *place.constant;
        again.shape = shape;
        return node.give(Place::of_constant(std::move(again), place.name));
    }
    node.give(node.reshaped(node.name(), extents_of(shape), node.batched()));
}

void permute(const NodeWriter& node, string_view operation) {
    const auto& order = node.attribute<PermuteAttribute>().order;
    const std::int64_t first = node.batched() ? 1 : 0;
    Extents axes(static_cast<std::size_t>(first), 0);
    for (int i = 0; i < node.info().shape.rank(); ++i)
        axes.push_back(order[static_cast<std::size_t>(i)] + first);
    node.give(node.add(operation, {node.name()}, {{"perm", axes}}));
}

void broadcast(const NodeWriter& node, string_view operation) {
    Extents extents = extents_of(node.result().shape);
    // An axis of extent 1 keeps that of the operand.
    if (node.batched()) extents.insert(extents.begin(), 1);
    node.give(node.add(operation, {node.aligned(0), node.builder().integers(extents)}));
}

/// The name of a part of a constant vector.
std::string part_name(const Place& whole, std::int64_t start) {
    if (whole.parts == nullptr) return whole.name;
    const auto after = whole.parts->upper_bound(start);
    if (after == whole.parts->begin()) return whole.name;
    const auto& [first, name] = *std::prev(after);
    return first == start ? name : name + '[' + std::to_string(start - first) + ']';
}

void slice(const NodeWriter& node, string_view operation) {
    const auto& [axis, start, length] = node.attribute<SliceAttribute>();
    const Place& place = node.place();
    if (place.constant && node.info().shape.rank() == 1) {
        Constant part = *place.constant;
        part.start += start;
        part.shape = Shape{length};
        return node.give(Place::of_constant(std::move(part), part_name(place, start)));
    }
    Builder& to = node.builder();
    node.give(node.add(operation, {node.name(), to.integers({start}), to.integers({start + length}),
                                   to.integers({node.axis(axis)})}));
}

void flip(const NodeWriter& node, string_view operation) {
    Builder& to = node.builder();
    node.give(node.add(
        operation,
        {node.name(), to.integers({-1}), to.integers({std::numeric_limits<std::int64_t>::min()}),
         to.integers({node.axis(node.attribute<AxisAttribute>().axis)}), to.integers({-1})}));
}

void pad(const NodeWriter& node, string_view operation) {
    const auto& attribute = node.attribute<PadAttribute>();
    const auto rank = static_cast<std::size_t>(node.info().shape.rank() + (node.batched() ? 1 : 0));
    const auto axis = static_cast<std::size_t>(node.axis(attribute.axis));
    Extents zeros(2 * rank, 0);
    zeros[axis] = attribute.before;
    zeros[rank + axis] = attribute.after;
    node.give(node.add(operation, {node.name(), node.builder().integers(zeros)}));
}

void concat(const NodeWriter& node, string_view operation) {
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < node.count(); ++i)
        if (node.info(i).shape.elements() > 0)
            parts.push_back(node.any_batched() ? node.spread(i) : node.name(i));
    const int axis = node.result().shape.normalise_axis(node.attribute<AxisAttribute>().axis);
    node.give(
        node.add(operation, parts, {{"axis", std::int64_t{axis} + (node.any_batched() ? 1 : 0)}}));
}

Tensor transposed_matrix(const Constant& matrix) {
    const std::int64_t rows = matrix.shape[0];
    const std::int64_t columns = matrix.shape[1];
    const std::span<const double> elements = matrix.elements();
    Tensor result(matrix.type, Shape{columns, rows});
    for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t column = 0; column < columns; ++column)
            result.elements[static_cast<std::size_t>(column * rows + row)] =
                elements[static_cast<std::size_t>(row * columns + column)];
    return result;
}

/// A factor as it is read: with its last two axes exchanged, perhaps.
std::string factor(const NodeWriter& node, std::size_t operand, bool transposed) {
    if (!transposed) return node.aligned(operand);
    const int own = node.info(operand).shape.rank();
    if (const Place& place = node.place(operand); place.constant && own == 2)
        return node.builder().constant(transposed_matrix(*place.constant),
                                       place.name + ".transposed");
    const std::string value = node.aligned(operand);
    const int rank = node.batched(operand) ? node.result().shape.rank() + 1 : own;
    Extents order(static_cast<std::size_t>(rank));
    std::iota(order.begin(), order.end(), 0);
    std::swap(order[order.size() - 1], order[order.size() - 2]);
    return node.add("Transpose", {value}, {{"perm", order}});
}

void matmul(const NodeWriter& node, string_view operation) {
    const auto& attribute = node.attribute<MatmulAttribute>();
    node.give(node.add(operation, {factor(node, 0, attribute.transpose_left),
                                   factor(node, 1, attribute.transpose_right)}));
}

/// Indices that point below the first element: here that is an error, in ONNX they count from the
/// end. One that is too large is an error in both.
std::string checked_indices(const NodeWriter& node, const std::string& indices,
                            std::int64_t extent) {
    if (node.place(1).constant) return indices;
    const auto number = [&](double value) {
        return node.builder().scalar(value, ElementType::int32);
    };
    const std::string below = node.add("Less", {indices, number(0.0)});
    return node.add("Where", {below, number(static_cast<double>(extent)), indices});
}

void gather(const NodeWriter& node, string_view operation) {
    const std::string indices = checked_indices(node, node.name(1), node.info(0).shape[0]);
    if (!node.batched(0) || !node.batched(1))
        return node.give(node.add(operation, {node.name(), indices}, {{"axis", node.axis(0)}}));
    const std::string wide =
        node.add("Cast", {indices}, {{"to", static_cast<std::int64_t>(ElementType::int64)}});
    const std::string each = node.add("Unsqueeze", {wide, node.builder().integers({-1})});
    node.give(node.add("GatherND", {node.name(), each}, {{"batch_dims", std::int64_t{1}}}));
}

void take_along_axis(const NodeWriter& node, string_view operation) {
    const int axis = node.info().shape.normalise_axis(node.attribute<AxisAttribute>().axis);
    const bool batched = node.any_batched();
    const auto operand = [&](std::size_t i) { return batched ? node.spread(i) : node.name(i); };
    const std::string indices = checked_indices(node, operand(1), node.info().shape[axis]);
    node.give(node.add(operation, {operand(0), indices},
                       {{"axis", std::int64_t{axis} + (batched ? 1 : 0)}}));
}

/// Into zeros, with the batch where an operand has it.
void scatter_add_along_axis(const NodeWriter& node, string_view operation) {
    const auto& attribute = node.attribute<ScatterAlongAttribute>();
    const int axis = node.info().shape.normalise_axis(attribute.axis);
    const bool batched = node.any_batched();
    const auto operand = [&](std::size_t i) { return batched ? node.spread(i) : node.name(i); };
    const ValueInfo& info = node.result();
    Builder& to = node.builder();
    std::string zeros = to.constant(Tensor(info.type, info.shape), "zeros");
    if (batched) zeros = to.spread(zeros, info.shape.rank());
    const std::string indices = checked_indices(node, operand(1), attribute.extent);
    node.give(node.add(
        operation, {zeros, indices, operand(0)},
        {{"axis", std::int64_t{axis} + (batched ? 1 : 0)}, {"reduction", std::string("add")}}));
}

constexpr std::array op_rows{
    OpRow{Op::constant, "", constant},
    OpRow{Op::iota, "", iota},
    OpRow{Op::neg, "Neg", same},
    OpRow{Op::abs, "Abs", same},
    OpRow{Op::sign, "Sign", same},
    OpRow{Op::round, "Round", same},
    OpRow{Op::floor, "Floor", same},
    OpRow{Op::exp, "Exp", same},
    OpRow{Op::log, "Log", same},
    OpRow{Op::sqrt, "Sqrt", same},
    OpRow{Op::rsqrt, "", rsqrt},
    OpRow{Op::reciprocal, "Reciprocal", same},
    OpRow{Op::sin, "Sin", of_limited_angle},
    OpRow{Op::cos, "Cos", of_limited_angle},
    OpRow{Op::tanh, "Tanh", same},
    OpRow{Op::sigmoid, "Sigmoid", same},
    OpRow{Op::erf, "Erf", same},
    OpRow{Op::log1p, "", log1p},
    OpRow{Op::expm1, "", expm1},
    OpRow{Op::is_finite, "", is_finite},
    OpRow{Op::logical_not, "Not", same},
    OpRow{Op::cast, "Cast", write_cast},
    OpRow{Op::stop_gradient, "", pass_on},
    OpRow{Op::add, "Add", same},
    OpRow{Op::sub, "Sub", same},
    OpRow{Op::mul, "Mul", same},
    OpRow{Op::div, "Div", same},
    OpRow{Op::pow, "Pow", same},
    OpRow{Op::min, "Min", same},
    OpRow{Op::max, "Max", same},
    OpRow{Op::less, "Less", same},
    OpRow{Op::equal, "Equal", same},
    OpRow{Op::logical_and, "And", same},
    OpRow{Op::logical_or, "Or", same},
    OpRow{Op::select, "Where", select},
    OpRow{Op::reduce_sum, "ReduceSum", reduce_sum},
    OpRow{Op::reduce_max, "ReduceMax", reduce_max},
    OpRow{Op::argmax, "ArgMax", argmax},
    OpRow{Op::cumsum, "CumSum", cumsum},
    OpRow{Op::sort, "TopK", sort},
    OpRow{Op::topk, "TopK", topk},
    OpRow{Op::reshape, "Reshape", reshape},
    OpRow{Op::permute, "Transpose", permute},
    OpRow{Op::broadcast, "Expand", broadcast},
    OpRow{Op::slice, "Slice", slice},
    OpRow{Op::pad, "Pad", pad},
    OpRow{Op::concat, "Concat", concat},
    OpRow{Op::flip, "Slice", flip},
    OpRow{Op::im2col, "", write_im2col},
    OpRow{Op::col2im, "", write_col2im},
    OpRow{Op::matmul, "MatMul", matmul},
    OpRow{Op::gather, "Gather", gather},
    OpRow{Op::take_along_axis, "GatherElements", take_along_axis},
    OpRow{Op::scatter_add_along_axis, "ScatterElements", scatter_add_along_axis},
    OpRow{Op::scan, "Scan", write_scan},
    OpRow{Op::conv, "Conv", write_conv},
};

}  // namespace

const OpRow* op_row(Op op) {
    const auto* const found = std::ranges::find(op_rows, op, &OpRow::op);
    return found == op_rows.end() ? nullptr : found;
}

}  // namespace cambrian::onnx
