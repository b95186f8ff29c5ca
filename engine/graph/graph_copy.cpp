#include "cambrian/engine/graph/graph_copy.hpp"

#include <utility>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian {

void GraphCopy::copy(const Node& node) {
    if (node.op != Op::input) return copy(node, node.attributes);
    const auto& input = std::get<InputAttribute>(node.attributes);
    const ValueId id{node.first_result};
    map(id, target_.input(*input.name, input.type, input.shape, source_.value(id).per_individual));
}

void GraphCopy::copy(const Node& node, Attributes attributes) {
    map_results(node, target_.add(node.op, operands(node), std::move(attributes), node.where));
}

void GraphCopy::map_results(const Node& node, Var first) {
    for (std::uint32_t i = 0; i < node.result_count; ++i)
        map(ValueId{node.first_result + i},
            {&target_, ValueId{static_cast<std::uint32_t>(first.id) + i}});
}

std::vector<Var> GraphCopy::operands(const Node& node) const {
    std::vector<Var> operands;
    for (const ValueId id : source_.operands(node)) operands.push_back(mapped(id));
    return operands;
}

void GraphCopy::outputs() {
    output(source_.outputs());
    target_.updates_ = source_.updates_;
}

void GraphCopy::output(std::span<const ValueId> outputs) {
    for (const ValueId id : outputs) target_.output(mapped(id));
}

std::vector<Var> inline_graph(Graph& target, const Graph& source, std::span<const Var> inputs) {
    CAMBRIAN_ASSERT(inputs.size() == source.inputs().size());
    std::vector<Var> values(source.value_count());
    std::vector<Var> operands;
    std::size_t next_input = 0;
    for (const Node& node : source.nodes()) {
        if (node.op == Op::input) {
            const Var value = inputs[next_input++];
            const ValueInfo& declared = source.value(ValueId{node.first_result});
            CAMBRIAN_ASSERT(value.shape() == declared.shape && value.info().type == declared.type);
            values[node.first_result] = value;
            continue;
        }
        operands.clear();
        for (const ValueId id : source.operands(node))
            operands.push_back(values[static_cast<std::size_t>(id)]);
        const Var first = target.add(node.op, operands, node.attributes, node.where);
        for (std::uint32_t i = 0; i < node.result_count; ++i)
            values[node.first_result + i] = {&target,
                                             ValueId{static_cast<std::uint32_t>(first.id) + i}};
    }
    std::vector<Var> outputs;
    for (const ValueId id : source.outputs())
        outputs.push_back(values[static_cast<std::size_t>(id)]);
    return outputs;
}

}  // namespace cambrian
