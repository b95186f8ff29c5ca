#include <algorithm>

#include "cambrian/engine/graph/graph_copy.hpp"
#include "cambrian/engine/graph/passes.hpp"

namespace cambrian {
namespace {

using HasKernel = std::function<bool(Op)>;

bool needs_lowering(const Node& node, const HasKernel& has_kernel) {
    if (node.op == Op::scan)
        return cambrian::needs_lowering(*std::get<ScanAttribute>(node.attributes).body, has_kernel);
    return row(node.op).lowering != nullptr && !has_kernel(node.op);
}

}  // namespace

bool needs_lowering(const Graph& graph, const std::function<bool(Op)>& has_kernel) {
    return std::ranges::any_of(graph.nodes(),
                               [&](const Node& node) { return needs_lowering(node, has_kernel); });
}

Graph lower(const Graph& graph, const std::function<bool(Op)>& has_kernel) {
    if (!needs_lowering(graph, has_kernel)) return graph;
    Graph result;
    GraphCopy copy(graph, result);
    for (const Node& node : graph.nodes()) {
        if (!needs_lowering(node, has_kernel)) {
            copy.copy(node);
        } else if (node.op == Op::scan) {
            ScanAttribute scan = std::get<ScanAttribute>(node.attributes);
            scan.body = std::make_shared<const Graph>(lower(*scan.body, has_kernel));
            copy.copy(node, std::move(scan));
        } else {
            copy.map(ValueId{node.first_result},
                     row(node.op).lowering(result, copy.operands(node), node.attributes));
        }
    }
    copy.output(graph.outputs());
    // A lowering may hold fused ops itself: linear becomes a matmul, a sum and an activate.
    return lower(result, has_kernel);
}

}  // namespace cambrian
