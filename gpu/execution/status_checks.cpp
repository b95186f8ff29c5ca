#include "cambrian/gpu/execution/compiled_graph.hpp"

#include <algorithm>
#include <array>

#include "cambrian/engine/backend/for_backends.hpp"
#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/graph/graph_errors.hpp"

namespace cambrian::gpu {

namespace {

/// An op that looks elements up by index, and where a node of it says how many rows there are.
struct IndexedOp {
    Op op;
    DataError code;
    std::int64_t (*rows)(const Graph& graph, const Node& node);
};

constexpr std::array indexed_ops{
    IndexedOp{Op::gather, DataError::gather_out_of_range,
              [](const Graph& graph, const Node& node) {
                  return graph.value(graph.operands(node)[0]).shape[0];
              }},
    IndexedOp{Op::scatter_add, DataError::scatter_out_of_range,
              [](const Graph&, const Node& node) {
                  return std::get<LengthAttribute>(node.attributes).length;
              }},
    IndexedOp{Op::take_along_axis, DataError::take_along_axis_out_of_range,
              [](const Graph& graph, const Node& node) {
                  const int axis = std::get<AxisAttribute>(node.attributes).axis;
                  return graph.value(graph.operands(node)[0]).shape[axis];
              }},
    IndexedOp{Op::scatter_add_along_axis, DataError::scatter_add_along_axis_out_of_range,
              [](const Graph&, const Node& node) {
                  return std::get<ScatterAlongAttribute>(node.attributes).extent;
              }},
};

void collect(const Graph& graph, const Node& node, StatusSite& site);

void collect(const std::shared_ptr<const Graph>& body, StatusSite& site) {
    for (const Node& node : body->nodes()) {
        collect(*body, node, site);
    }
}

void collect(const Graph& graph, const Node& node, StatusSite& site) {
    const auto* const indexed = std::ranges::find(indexed_ops, node.op, &IndexedOp::op);
    if (indexed != indexed_ops.end()) {
        site.checks.push_back({indexed->code, indexed->rows(graph, node)});
    } else if (may_divide_by_zero(graph, node)) {
        site.checks.push_back({DataError::division_by_zero, 0});
    } else if (const auto* network = std::get_if<InterpretAttribute>(&node.attributes);
               network != nullptr && network->neurons >= NeuronSet::any) {
        site.checks.push_back({DataError::loops_ended, 0});
    } else if (const auto* scan = std::get_if<ScanAttribute>(&node.attributes)) {
        collect(scan->body, site);
    } else if (const auto* fused = std::get_if<FusedAttribute>(&node.attributes)) {
        collect(fused->body, site);
    }
}

}  // namespace

StatusSite status_checks(const Graph& graph, const Node& node) {
    StatusSite site;
    collect(graph, node, site);
    return site;
}

std::string status_message(const StatusSite& site, DataError code, std::int32_t index) {
    if (code == DataError::division_by_zero) return std::string(division_by_zero);
    if (code == DataError::loops_ended)
        return "a network of neurons is too large for this device (it is a software device, which "
               "ends loops after 65,535 turns) use a GPU, or set engine.backend to \"cpu\"";
    // Of several checks in one kernel, the first that this index fails.
    const auto failed = std::ranges::find_if(site.checks, [&](const StatusSite::Check& check) {
        return check.code == code && (index < 0 || index >= check.rows);
    });
    CAMBRIAN_ASSERT(failed != site.checks.end());
    const auto* const indexed = std::ranges::find(indexed_ops, code, &IndexedOp::code);
    return index_message(indexed->op, index, failed->rows);
}

}  // namespace cambrian::gpu
