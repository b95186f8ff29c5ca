#include "cambrian/engine/graph/gradient/gradient.hpp"
#include "cambrian/engine/graph/graph_copy.hpp"
#include "cambrian/engine/graph/rules/op_rules.hpp"

namespace cambrian {

constexpr std::size_t selective_scan_operands = 7;

// In a graph of its own: operands may depend on each other where they come from.
std::vector<Var> lower_selective_scan_gradient(Graph& graph, std::span<const Var> operands,
                                               const Attributes& attributes) {
    Graph alone;
    std::vector<Var> inputs;
    for (const Var operand : operands)
        inputs.push_back(alone.input("operand", ValueType::real, operand.shape()));
    const std::span<const Var> all(inputs);
    const std::vector<Var> results =
        lower_selective_scan(alone, all.first(selective_scan_operands), attributes);
    for (const Var g : gradient(results, all.subspan(selective_scan_operands),
                                all.first(selective_scan_operands)))
        alone.output(g);
    return inline_graph(graph, alone, operands);
}

}  // namespace cambrian
