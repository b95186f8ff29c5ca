#include "cambrian/engine/graph/graph_errors.hpp"

#include <algorithm>
#include <vector>

namespace cambrian {

void reject(const std::string& why, const std::string& suggestion) {
    throw ShapeError("(" + why + ") " + suggestion);
}

void fail_node(Op op, const OperandInfos& operands, std::string_view reason,
               std::source_location where) {
    std::string text = std::string(name(op)) + ": ";
    // A reason that already names its problem, such as one from Shape, needs no list of operands.
    if (reason.starts_with('(')) {
        text += operands.size() == 0   ? "attributes"
                : operands.size() == 1 ? "operand "
                                       : "operands ";
        for (std::size_t i = 0; i < operands.size(); ++i) {
            if (i > 0) text += i + 1 == operands.size() ? " and " : ", ";
            text += std::string(name(operands[i].type)) + " " + operands[i].shape.text();
        }
        text += operands.size() == 1 ? " does not fit " : " do not fit ";
    }
    text += reason;
    throw ShapeError(text + " at " + where.file_name() + ":" + std::to_string(where.line()));
}

void fail_node(Op op, std::span<const Var> operands, std::string_view reason,
               std::source_location where) {
    std::deque<ValueInfo> infos;
    std::vector<ValueId> ids;
    for (const Var operand : operands) {
        ids.push_back(ValueId{static_cast<std::uint32_t>(infos.size())});
        infos.push_back(operand.info());
    }
    fail_node(op, OperandInfos(infos, ids), reason, where);
}

void check_axis(const Shape& shape, int axis) {
    if (axis < 0 || axis >= shape.rank())
        reject("axis " + std::to_string(axis) + " is not one of its " +
                   std::to_string(shape.rank()) + " axes",
               "use an axis from " + std::to_string(-shape.rank()) + " to " +
                   std::to_string(shape.rank() - 1));
}

bool may_divide_by_zero(const Graph& graph, const Node& node) {
    if (node.op != Op::div) return false;
    const ValueId divisor = graph.operands(node)[1];
    if (graph.value(divisor).type != ValueType::integer) return false;
    const Node& producer = graph.producer(divisor);
    if (producer.op != Op::constant || graph.value(divisor).shape.rank() != 0) return true;
    return std::get<ConstantAttribute>(producer.attributes).value->elements[0] == 0.0;
}

bool may_fail(const Graph& graph, const Node& node) {
    if (node.op == Op::scan) {
        const Graph& body = *std::get<ScanAttribute>(node.attributes).body;
        return std::ranges::any_of(body.nodes(),
                                   [&](const Node& inner) { return may_fail(body, inner); });
    }
    return node.op == Op::div ? may_divide_by_zero(graph, node) : op_info(node.op).may_fail;
}

}  // namespace cambrian
