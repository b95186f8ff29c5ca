#include "cambrian/gpu/kernels/status_checks.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian::gpu {

namespace {

void collect(const Graph& graph, const Node& node, StatusSite& site);

void collect(const std::shared_ptr<const Graph>& body, StatusSite& site) {
    for (const Node& node : body->nodes()) {
        collect(*body, node, site);
    }
}

void collect(const Graph& graph, const Node& node, StatusSite& site) {
    if (node.op == Op::gather) {
        site.checks.push_back(
            {DataError::gather_out_of_range, graph.value(graph.operands(node)[0]).shape[0]});
    } else if (node.op == Op::scatter_add) {
        site.checks.push_back(
            {DataError::scatter_out_of_range, graph.value(ValueId{node.first_result}).shape[0]});
    } else if (const auto* scan = std::get_if<ScanAttribute>(&node.attributes)) {
        collect(scan->body, site);
    } else if (const auto* chain = std::get_if<ChainAttribute>(&node.attributes)) {
        collect(chain->body, site);
    }
}

}  // namespace

StatusSite status_checks(const Graph& graph, const Node& node) {
    StatusSite site;
    collect(graph, node, site);
    return site;
}

std::string status_message(const StatusSite& site, DataError code, std::int32_t index) {
    // Of several checks in one kernel, the first that this index fails.
    const auto failed = std::ranges::find_if(site.checks, [&](const StatusSite::Check& check) {
        return check.code == code && (index < 0 || index >= check.rows);
    });
    CAMBRIAN_ASSERT(failed != site.checks.end());
    return fmt::format("index {} is out of range ({} over {} rows) use indices from 0 to {}", index,
                       code == DataError::gather_out_of_range ? "gather" : "scatter_add",
                       failed->rows, failed->rows - 1);
}

}  // namespace cambrian::gpu
