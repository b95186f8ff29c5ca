#include "cambrian/engine/graph/plan/liveness.hpp"

#include <algorithm>

namespace cambrian {
namespace {

bool is_in_place_op(const Node& node) {
    if (node.result_count != 1) return false;
    if (node.op != Op::fused) return is_elementwise(node.op) || node.op == Op::put_row;
    const Graph& body = *std::get<FusedAttribute>(node.attributes).body;
    return std::ranges::all_of(body.nodes(), [](const Node& inner) {
        return is_bound(inner.op) || inner.op == Op::broadcast || inner.op == Op::reshape ||
               is_elementwise(inner.op);
    });
}

}  // namespace

bool reads_in_place(const Graph& graph, const Liveness& live, const Node& node, ValueId root) {
    const std::int64_t elements = graph.value(ValueId{node.first_result}).shape.elements();
    return is_in_place_op(node) && std::ranges::all_of(graph.operands(node), [&](ValueId id) {
               const auto operand = static_cast<std::size_t>(id);
               return live.roots[operand] != root ||
                      (live.offsets[operand] == 0 && graph.value(id).shape.elements() == elements &&
                       graph.value(root).shape.elements() == elements);
           });
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
