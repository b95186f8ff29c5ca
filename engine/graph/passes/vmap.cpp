#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"

namespace cambrian {

Graph vmap(const Graph& graph, std::span<const std::size_t> per_individual_inputs) {
    std::vector<bool> batch_axes;
    for (const ValueId id : graph.inputs()) batch_axes.push_back(graph.value(id).per_individual);
    for (const std::size_t input : per_individual_inputs) {
        CAMBRIAN_ASSERT(input < batch_axes.size());
        batch_axes[input] = true;
    }
    Graph result = graph;
    result.set_batch_axes(batch_axes);
    return result;
}

}  // namespace cambrian
