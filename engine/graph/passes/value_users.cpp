#include "cambrian/engine/graph/passes/value_users.hpp"

namespace cambrian {

std::vector<ValueUsers> users_of_values(const Graph& graph) {
    std::vector<ValueUsers> users(graph.value_count());
    for (const Node& node : graph.nodes())
        for (const ValueId id : graph.operands(node)) {
            ValueUsers& of = users[static_cast<std::size_t>(id)];
            ++of.count;
            of.last = &node;
        }
    for (const ValueId id : graph.outputs()) ++users[static_cast<std::size_t>(id)].count;
    return users;
}

}  // namespace cambrian
