#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"

namespace cambrian {

Graph over_population(const Graph& graph, std::span<const std::size_t> per_individual_inputs) {
    std::vector<bool> marks;
    for (const ValueId id : graph.inputs()) marks.push_back(graph.value(id).per_individual);
    for (const std::size_t input : per_individual_inputs) {
        CAMBRIAN_ASSERT(input < marks.size());
        marks[input] = true;
    }
    Graph result = graph;
    result.mark_inputs(marks);
    return result;
}

}  // namespace cambrian
