#include "cambrian/engine/graph/data_checks.hpp"

namespace cambrian {

bool may_divide_by_zero(const Graph& graph, const Node& node) {
    if (node.op != Op::div) return false;
    const ValueId divisor = graph.operands(node)[1];
    if (graph.value(divisor).type != ValueType::integer) return false;
    const Node& producer = graph.producer(divisor);
    if (producer.op != Op::constant || graph.value(divisor).shape.rank() != 0) return true;
    return std::get<ConstantAttribute>(producer.attributes).value->elements[0] == 0.0;
}

}  // namespace cambrian
