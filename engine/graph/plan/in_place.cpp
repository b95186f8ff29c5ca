#include "cambrian/engine/graph/plan/liveness.hpp"

#include <algorithm>

namespace cambrian {
namespace {

bool puts_row(const Node& node) {
    return node.op == Op::put_row;
}

bool is_in_place_op(const Node& node) {
    if (node.result_count != 1) return false;
    if (node.op != Op::fused) return is_elementwise(node.op) || puts_row(node);
    const Graph& body = *std::get<FusedAttribute>(node.attributes).body;
    return std::ranges::all_of(body.nodes(), [](const Node& inner) {
        return is_bound(inner.op) || inner.op == Op::broadcast || inner.op == Op::reshape ||
               is_elementwise(inner.op);
    });
}

}  // namespace

bool reads_in_place(const Graph& graph, const Liveness& live, const Node& node, ValueId root) {
    const std::int64_t elements = graph.value(ValueId{node.first_result}).shape.elements();
    if (!is_in_place_op(node) || graph.value(root).shape.elements() != elements) return false;
    const std::span<const ValueId> operands = graph.operands(node);
    for (std::size_t i = 0; i < operands.size(); ++i) {
        const auto operand = static_cast<std::size_t>(operands[i]);
        if (live.roots[operand] != root) continue;
        const bool same_elements =
            live.offsets[operand] == 0 && graph.value(operands[i]).shape.elements() == elements;
        // The row of put_row is read after its rows were copied.
        if (!same_elements || (puts_row(node) && i > 0)) return false;
    }
    return true;
}

bool replaces_directly(const Graph& graph, const Liveness& live, const Update& update) {
    const ValueId input = graph.inputs()[update.input];
    const auto output = static_cast<std::size_t>(graph.outputs()[update.output]);
    const ValueId value = live.roots[output];
    const Op op = graph.producer(value).op;
    const bool is_whole = live.offsets[output] == 0 && graph.value(value).shape.elements() ==
                                                           graph.value(input).shape.elements();
    if (is_bound(op) || !is_whole) return false;
    const std::uint32_t written = live.intervals[static_cast<std::size_t>(value)].first;
    const std::uint32_t last_read = live.intervals[static_cast<std::size_t>(input)].last;
    return last_read < written ||
           (last_read == written && reads_in_place(graph, live, graph.nodes()[written], input));
}

}  // namespace cambrian
