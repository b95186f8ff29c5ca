#include "cambrian/engine/graph/graph_copy.hpp"

#include <utility>

namespace cambrian {

void GraphCopy::copy(const Node& node) {
    if (node.op != Op::input) return copy(node, node.attributes);
    const auto& input = std::get<InputAttribute>(node.attributes);
    const ValueId id{node.first_result};
    map(id, target_.input(*input.name, input.type, input.shape, source_.value(id).per_individual));
}

void GraphCopy::copy(const Node& node, Attributes attributes) {
    const Var first = target_.add(node.op, operands(node), std::move(attributes), node.where);
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

}  // namespace cambrian
