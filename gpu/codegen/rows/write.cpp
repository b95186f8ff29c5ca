#include <algorithm>
#include <array>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/graph/graph_errors.hpp"
#include "cambrian/gpu/codegen/fused/expressions.hpp"
#include "cambrian/gpu/codegen/rows/ops.hpp"
#include "cambrian/gpu/codegen/rows/writer.hpp"
#include "cambrian/gpu/codegen/shader_texts.hpp"

// Ops that compute. Their order of operations is that of the CPU kernels.
namespace cambrian::gpu {
namespace {

/// Extents of a result, 1 on every axis along which all operands stand still.
Shape distinct_part(const std::vector<View>& operands, const Shape& shape) {
    std::array<std::int64_t, Shape::max_rank> extents{};
    for (int axis = 0; axis < shape.rank(); ++axis) {
        const auto index = static_cast<std::size_t>(axis);
        const bool moves = std::ranges::any_of(
            operands, [&](const View& view) { return view.strides[index] != 0; });
        extents[index] = moves ? shape[axis] : std::min<std::int64_t>(shape[axis], 1);
    }
    return Shape(std::span(extents.data(), static_cast<std::size_t>(shape.rank())));
}

bool is_literal(const View& view, std::string_view text) {
    return view.kind == View::Kind::literal && view.name == text;
}

/// What stands for the booleans in the text, as constants write them.
constexpr std::string_view yes = "int(0x1u)";
constexpr std::string_view no = "int(0x0u)";

View literal_view(ValueType type, std::string_view text, const Shape& shape) {
    View view;
    view.type = type;
    view.name = std::string(text);
    view.invariant = true;
    view.shape = shape;
    return view;
}

void set_alias(RowWriter& writer, const Node& node, const View& view) {
    const ValueId id = result_of(node);
    writer.set(id, broadcast_to(view, writer.row_shape(id)));
}

/// One line for every element.
template <class Text>
void write_each(RowWriter& writer, const Node& node, std::vector<View> operands, const Text& text) {
    const ValueId id = result_of(node);
    const Shape shape = writer.row_shape(id);
    for (View& view : operands) view = broadcast_to(view, shape);
    writer.begin(node);
    const View result = writer.result(node, 0, distinct_part(operands, shape));
    writer.each(result.shape, row_op(node.op).cost, [&](std::span<const Index> at) {
        std::vector<std::string> elements;
        for (const View& view : operands) elements.push_back(writer.element(view, at));
        writer.line("{} = {};", writer.element(result, at), text(elements));
    });
    writer.set(id, broadcast_to(result, shape));
}

void write_expressions(RowWriter& writer, const Node& node, std::vector<View> operands) {
    std::vector<ValueType> types;
    for (const View& view : operands) types.push_back(view.type);
    const ValueType type = writer.graph().value(result_of(node)).type;
    write_each(writer, node, std::move(operands), [&](const std::vector<std::string>& elements) {
        return expression(node.op, elements, types, type);
    });
}

}  // namespace

void row_write::elementwise(RowWriter& writer, const Node& node) {
    write_expressions(writer, node, writer.operands(node));
}

void row_write::div(RowWriter& writer, const Node& node) {
    if (!may_divide_by_zero(writer.graph(), node)) return elementwise(writer, node);
    writer.need_functions("status", shader_text("cambrian/gpu/shaders/status.glsl"));
    writer.reports = true;
    const std::vector<View> operands = writer.operands(node);
    writer.begin_step();  // A scan without steps divides nothing.
    writer.each(operands[1].shape, 1, [&](std::span<const Index> at) {
        writer.line("if ({} == 0) report(Words(entry_address({}u, 0u)), {}u, 0u);",
                    writer.element(operands[1], at), writer.status_entry,
                    static_cast<std::uint32_t>(DataError::division_by_zero));
    });
    write_expressions(writer, node, operands);
}

void row_write::logical_not(RowWriter& writer, const Node& node) {
    const std::vector<View> operands = writer.operands(node);
    if (is_literal(operands[0], yes))
        return set_alias(writer, node, literal_view(ValueType::boolean, no, operands[0].shape));
    if (is_literal(operands[0], no))
        return set_alias(writer, node, literal_view(ValueType::boolean, yes, operands[0].shape));
    write_expressions(writer, node, operands);
}

void row_write::cast(RowWriter& writer, const Node& node) {
    const std::vector<View> operands = writer.operands(node);
    const ValueType to = writer.graph().value(result_of(node)).type;
    const bool known = is_literal(operands[0], yes) || is_literal(operands[0], no);
    if (operands[0].type == to || (known && to != ValueType::real)) {
        View same = operands[0];
        same.type = to;
        return set_alias(writer, node, same);
    }
    write_expressions(writer, node, operands);
}

void row_write::logical_and(RowWriter& writer, const Node& node) {
    const std::vector<View> operands = writer.operands(node);
    if (is_literal(operands[0], yes)) return set_alias(writer, node, operands[1]);
    if (is_literal(operands[1], yes)) return set_alias(writer, node, operands[0]);
    write_expressions(writer, node, operands);
}

void row_write::logical_or(RowWriter& writer, const Node& node) {
    const std::vector<View> operands = writer.operands(node);
    if (is_literal(operands[0], no)) return set_alias(writer, node, operands[1]);
    if (is_literal(operands[1], no)) return set_alias(writer, node, operands[0]);
    write_expressions(writer, node, operands);
}

void row_write::select(RowWriter& writer, const Node& node) {
    const std::vector<View> operands = writer.operands(node);
    if (is_literal(operands[0], yes)) return set_alias(writer, node, operands[1]);
    if (is_literal(operands[0], no)) return set_alias(writer, node, operands[2]);
    write_each(writer, node, operands, [&](const std::vector<std::string>& elements) {
        const std::array types{operands[1].type, operands[1].type, operands[1].type};
        return expression(Op::select, elements, types, operands[1].type);
    });
}

}  // namespace cambrian::gpu
