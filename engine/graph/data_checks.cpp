#include "cambrian/engine/graph/data_checks.hpp"

#include <algorithm>

namespace cambrian {

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
