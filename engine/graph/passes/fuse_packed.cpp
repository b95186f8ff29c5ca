#include <algorithm>
#include <array>
#include <vector>

#include "cambrian/engine/graph/graph_copy.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"

namespace cambrian {
namespace {

bool holds_packed(const Graph& graph) {
    return std::ranges::any_of(graph.nodes(), [](const Node& node) {
        const ScanAttribute* loop = loop_of(node);
        return node.op == Op::unpack || (loop != nullptr && holds_packed(*loop->body));
    });
}

/// The unpack that makes an operand, or null.
const Node* unpacked(const Graph& graph, ValueId operand) {
    const Node& producer = graph.producer(operand);
    return producer.op == Op::unpack ? &producer : nullptr;
}

/// Reads a matrix row by row, as codes lie.
bool is_row_product(const Graph& graph, const Node& node) {
    if (node.op != Op::matmul) return false;
    const auto& product = std::get<MatmulAttribute>(node.attributes);
    const Node* matrix = unpacked(graph, graph.operands(node)[1]);
    return matrix != nullptr && product.transpose_right && !product.transpose_left &&
           graph.value(graph.operands(node)[1]).shape.rank() == 2;
}

bool is_row_gather(const Graph& graph, const Node& node) {
    return node.op == Op::gather && unpacked(graph, graph.operands(node)[0]) != nullptr &&
           graph.value(graph.operands(node)[0]).shape.rank() >= 2;
}

Var packed_product(const Graph& graph, const Node& node, Graph& target, const GraphCopy& copy) {
    const Node& matrix = *unpacked(graph, graph.operands(node)[1]);
    std::vector<Var> operands{copy.mapped(graph.operands(node)[0])};
    for (const Var part : copy.operands(matrix)) operands.push_back(part);
    return target.add(Op::packed_matmul, operands, matrix.attributes, node.where);
}

Var packed_gather(const Graph& graph, const Node& node, Graph& target, const GraphCopy& copy) {
    const Node& table = *unpacked(graph, graph.operands(node)[0]);
    const Var indices = copy.mapped(graph.operands(node)[1]);
    std::vector<Var> rows;
    for (const Var part : copy.operands(table)) {
        const std::array operands{part, indices};
        rows.push_back(target.add(Op::gather, operands, node.attributes, node.where));
    }
    return target.add(Op::unpack, rows, table.attributes, node.where);
}

}  // namespace

Graph fuse_packed(const Graph& graph) {
    if (!holds_packed(graph)) return graph;
    Graph result;
    GraphCopy copy(graph, result);
    for (const Node& node : graph.nodes()) {
        if (loop_of(node) != nullptr)
            copy.copy(node, with_body(node, fuse_packed));
        else if (is_row_product(graph, node))
            copy.map(ValueId{node.first_result}, packed_product(graph, node, result, copy));
        else if (is_row_gather(graph, node))
            copy.map(ValueId{node.first_result}, packed_gather(graph, node, result, copy));
        else
            copy.copy(node);
    }
    copy.outputs();
    return eliminate_dead_code(result);
}

}  // namespace cambrian
