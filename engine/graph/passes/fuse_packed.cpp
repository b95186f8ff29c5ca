#include <algorithm>
#include <array>
#include <vector>

#include "cambrian/engine/graph/builders/movement.hpp"
#include "cambrian/engine/graph/graph_copy.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"

namespace cambrian {
namespace {

bool unpacks(const Node& node) {
    return node.op == Op::unpack;
}

bool holds_packed(const Graph& graph) {
    return std::ranges::any_of(graph.nodes(), [](const Node& node) {
        const ScanAttribute* loop = loop_of(node);
        return unpacks(node) || (loop != nullptr && holds_packed(*loop->body));
    });
}

/// The unpack that makes an operand, or null.
const Node* unpacked(const Graph& graph, ValueId operand) {
    const Node& producer = graph.producer(operand);
    return unpacks(producer) ? &producer : nullptr;
}

/// The unpack whose rows are the weights of the outputs of a convolution, or null.
const Node* unpacked_weights(const Graph& graph, ValueId weights) {
    const Node& producer = graph.producer(weights);
    if (producer.op != Op::reshape) return nullptr;
    const ValueId matrix = graph.operands(producer)[0];
    const bool rows = graph.value(matrix).shape.rank() == 2 &&
                      graph.value(matrix).shape[0] == graph.value(weights).shape[0];
    return rows ? unpacked(graph, matrix) : nullptr;
}

/// Whether a node is a product with the rows of its right matrix, as codes lie.
bool multiplies_rows(const Graph& graph, const Node& node) {
    if (node.op != Op::matmul) return false;
    const auto& product = std::get<MatmulAttribute>(node.attributes);
    return product.transpose_right && !product.transpose_left &&
           graph.value(graph.operands(node)[1]).shape.rank() == 2;
}

bool convolves(const Node& node) {
    const auto* conv = std::get_if<ConvAttribute>(&node.attributes);
    return conv != nullptr && !conv->packed;
}

/// Whether it gathers whole rows.
bool gathers_rows(const Graph& graph, const Node& node) {
    return node.op == Op::gather && graph.value(graph.operands(node)[0]).shape.rank() >= 2;
}

/// Whether every use of an input of a body fits: fits(node, index of the operand).
template <class Fits>
bool all_uses(const Graph& body, ValueId input, Fits fits) {
    bool all = std::ranges::find(body.outputs(), input) == body.outputs().end();
    for (const Node& node : body.nodes()) {
        const auto operands = body.operands(node);
        for (std::size_t i = 0; i < operands.size(); ++i)
            if (operands[i] == input) all = all && fits(node, i);
    }
    return all;
}

/// The unpack whose codes a body may read in the place of an input, or null.
const Node* unpacked_for(const Graph& graph, ValueId outer, const Graph& body, ValueId inner) {
    const auto reads_rows = [&](const Node& node, std::size_t i) {
        return i == 1 ? multiplies_rows(body, node) : i == 0 && gathers_rows(body, node);
    };
    const auto reads_weights = [](const Node& node, std::size_t i) {
        return i == 1 && convolves(node);
    };
    if (const Node* const matrix = unpacked(graph, outer))
        return all_uses(body, inner, reads_rows) ? matrix : nullptr;
    const Node* const weights = unpacked_weights(graph, outer);
    return weights != nullptr && all_uses(body, inner, reads_weights) ? weights : nullptr;
}

/// A scan that takes the codes of matrices which its steps read row by row: decoded before it, all
/// of a matrix would have to lie there.
Var scan_of_codes(const Graph& graph, const Node& node, Graph& target, const GraphCopy& copy) {
    ScanAttribute scan = std::get<ScanAttribute>(node.attributes);
    const auto first_invariant = static_cast<std::size_t>(scan.carries + scan.sequences);
    Graph body;
    GraphCopy inside(*scan.body, body);
    std::vector<Var> operands;
    std::size_t index = 0;  // Of the next input.
    for (const Node& each : scan.body->nodes()) {
        if (!std::holds_alternative<InputAttribute>(each.attributes)) {
            inside.copy(each);
            continue;
        }
        const ValueId outer = graph.operands(node)[index];
        const ValueId inner{each.first_result};
        const Node* const matrix =
            index++ < first_invariant ? nullptr : unpacked_for(graph, outer, *scan.body, inner);
        if (matrix == nullptr) {
            inside.copy(each);
            operands.push_back(copy.mapped(outer));
            continue;
        }
        std::vector<Var> parts;
        for (const Var part : copy.operands(*matrix)) {
            operands.push_back(part);
            parts.push_back(
                body.input("codes", part.info().type, part.shape(), part.info().per_individual));
        }
        const Var numbers = body.add(Op::unpack, parts, matrix->attributes, matrix->where);
        const Shape& shape = graph.value(outer).shape;
        inside.map(inner, numbers.shape() == shape ? numbers : reshape(numbers, shape));
    }
    inside.outputs();
    scan.body = std::make_shared<const Graph>(fuse_packed(body));
    return target.add(node.op, operands, scan, node.where);
}

Var packed_product(const Graph& graph, const Node& node, Graph& target, const GraphCopy& copy) {
    const Node& matrix = *unpacked(graph, graph.operands(node)[1]);
    std::vector<Var> operands{copy.mapped(graph.operands(node)[0])};
    for (const Var part : copy.operands(matrix)) operands.push_back(part);
    return target.add(Op::packed_matmul, operands, matrix.attributes, node.where);
}

Var packed_conv(const Graph& graph, const Node& node, Graph& target, const GraphCopy& copy) {
    const Node& matrix = *unpacked_weights(graph, graph.operands(node)[1]);
    ConvAttribute attribute = std::get<ConvAttribute>(node.attributes);
    attribute.packed = std::get<PackedAttribute>(matrix.attributes);
    std::vector<Var> operands{copy.mapped(graph.operands(node)[0])};
    for (const Var part : copy.operands(matrix)) operands.push_back(part);
    if (attribute.bias) operands.push_back(copy.mapped(graph.operands(node)[2]));
    return target.add(Op::conv, operands, attribute, node.where);
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
            copy.map_results(node, scan_of_codes(graph, node, result, copy));
        else if (multiplies_rows(graph, node) &&
                 unpacked(graph, graph.operands(node)[1]) != nullptr)
            copy.map(ValueId{node.first_result}, packed_product(graph, node, result, copy));
        else if (convolves(node) && unpacked_weights(graph, graph.operands(node)[1]) != nullptr)
            copy.map(ValueId{node.first_result}, packed_conv(graph, node, result, copy));
        else if (gathers_rows(graph, node) && unpacked(graph, graph.operands(node)[0]) != nullptr)
            copy.map(ValueId{node.first_result}, packed_gather(graph, node, result, copy));
        else
            copy.copy(node);
    }
    copy.outputs();
    return eliminate_dead_code(result);
}

}  // namespace cambrian
