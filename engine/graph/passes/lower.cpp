#include <algorithm>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/graph/builders/arithmetic.hpp"
#include "cambrian/engine/graph/builders/movement.hpp"
#include "cambrian/engine/graph/builders/reduce.hpp"
#include "cambrian/engine/graph/graph_copy.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"

namespace cambrian {
namespace {

using HasKernel = std::function<bool(Op)>;

bool needs_lowering(const Node& node, const HasKernel& has_kernel) {
    if (node.op == Op::scan)
        return cambrian::needs_lowering(*std::get<ScanAttribute>(node.attributes).body, has_kernel);
    return op_info(node.op).lowering != nullptr && !has_kernel(node.op);
}

/// The value with the batch axis that one of the operands has: a lowering may leave
/// operands out of a result.
Var for_each(Var value, std::span<const Var> operands) {
    if (value.info().per_individual) return value;
    const auto batched = std::ranges::find_if(
        operands, [](const Var& operand) { return operand.info().per_individual; });
    CAMBRIAN_ASSERT(batched != operands.end());
    const Var flat = reshape(*batched, {batched->shape().elements()});
    // An operand may have no elements; then their sum is there.
    const Var first = flat.shape()[0] > 0 ? reshape(slice(flat, 0, 0, 1), Shape{})
                                          : reduce_sum(cast(flat, ValueType::integer), 0);
    return select(equal(first, first), value, value);
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
            const auto pass = [&](const Graph& body) { return lower(body, has_kernel); };
            copy.copy(node, with_body(node, pass));
        } else {
            const std::vector<Var> operands = copy.operands(node);
            const std::vector<Var> lowered =
                op_info(node.op).lowering(result, operands, node.attributes);
            for (std::uint32_t i = 0; i < node.result_count; ++i) {
                const ValueId id{node.first_result + i};
                copy.map(id, graph.value(id).per_individual ? for_each(lowered[i], operands)
                                                            : lowered[i]);
            }
        }
    }
    copy.outputs();
    // A lowering may hold fused ops itself: linear becomes a matmul, a sum and an activate.
    return lower(result, has_kernel);
}

}  // namespace cambrian
