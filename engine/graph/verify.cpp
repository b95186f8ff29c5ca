#include <algorithm>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/graph/batch_axes.hpp"

namespace cambrian {
namespace {

[[noreturn]] void fail(std::size_t node_index, const Node& node, const std::string& what) {
    throw ContractViolation("node " + std::to_string(node_index) + " (" +
                            std::string(name(node.op)) + ") " + what);
}

/// Operands come before the node and results continue the list of values.
void check_order(const Graph& graph, std::size_t node_index, std::uint32_t next_value) {
    const Node& node = graph.nodes()[node_index];
    if (node.first_result != next_value ||
        node.first_result + node.result_count > graph.value_count())
        fail(node_index, node, "has results out of order");
    for (const ValueId id : graph.operands(node))
        if (static_cast<std::uint32_t>(id) >= node.first_result)
            fail(node_index, node, "reads a later value");
    const OpInfo& rule = op_info(node.op);
    if (rule.arity >= 0 && node.operand_count != static_cast<std::uint32_t>(rule.arity))
        fail(node_index, node, "has the wrong number of operands");
}

void check_results(const Graph& graph, std::size_t node_index) {
    const Node& node = graph.nodes()[node_index];
    const OpInfo& rule = op_info(node.op);
    std::deque<ValueInfo> values;
    std::vector<ValueId> ids;
    for (const ValueId id : graph.operands(node)) {
        ids.push_back(ValueId{static_cast<std::uint32_t>(values.size())});
        values.push_back(graph.value(id));
    }
    const OperandInfos operands(values, ids);
    try {
        const std::size_t count =
            rule.result_count == nullptr ? 1 : rule.result_count(node.attributes);
        if (node.result_count != count) fail(node_index, node, "has the wrong number of results");
        for (std::uint32_t i = 0; i < node.result_count; ++i) {
            const ValueInfo& held = graph.value(ValueId{node.first_result + i});
            if (held.shape != rule.shape(operands, node.attributes, i))
                fail(node_index, node, "has a wrong shape");
            if (held.type != rule.type(operands, node.attributes, i))
                fail(node_index, node, "has a wrong type");
        }
    } catch (const ShapeError& error) {
        fail(node_index, node, std::string("breaks its rule: ") + error.what());
    }
}

void check_body(const Graph& graph, std::size_t node_index) {
    const Node& node = graph.nodes()[node_index];
    const auto& scan = std::get<ScanAttribute>(node.attributes);
    std::vector<bool> batch_axes;
    for (const ValueId id : graph.operands(node))
        batch_axes.push_back(graph.value(id).per_individual);
    batch_axes = scan_body_batch_axes(scan, std::move(batch_axes));
    for (std::size_t i = 0; i < batch_axes.size(); ++i)
        if (scan.body->value(scan.body->inputs()[i]).per_individual != batch_axes[i])
            fail(node_index, node, "has a body with wrong batch axes");
    verify(*scan.body);
}

}  // namespace

void verify(const Graph& graph) {
    std::uint32_t next_value = 0;
    for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
        check_order(graph, i, next_value);
        check_results(graph, i);
        if (graph.nodes()[i].op == Op::scan) check_body(graph, i);
        next_value += graph.nodes()[i].result_count;
    }
    std::vector<bool> batch_axes;
    for (const ValueId id : graph.inputs()) batch_axes.push_back(graph.value(id).per_individual);
    batch_axes = propagate_batch_axes(graph, batch_axes);
    for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
        const Node& node = graph.nodes()[i];
        for (std::uint32_t id = node.first_result; id < node.first_result + node.result_count; ++id)
            if (graph.value(ValueId{id}).per_individual != batch_axes[id])
                fail(i, node, "has a wrong batch axis");
    }
}

}  // namespace cambrian
