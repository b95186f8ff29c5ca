#include "cambrian/evolve/tasks/environments/motion.hpp"

#include <numbers>

namespace cambrian::evolve {

Var column(Var matrix, std::int64_t i) {
    return slice(matrix, 1, i, 1);
}

Var per_episode(Var column) {
    return reshape(column, {column.shape()[0]});
}

Var every_episode(Var column, double value) {
    return filled(*column.graph, {column.shape()[0]}, value);
}

Var never(Var column) {
    const auto episodes = column.shape()[0];
    return column.graph->constant(
        Tensor(ValueType::boolean, Shape{episodes},
               std::vector<double>(static_cast<std::size_t>(episodes), 0.0)));
}

Var first_largest(Var output) {
    Graph& graph = *output.graph;
    Var largest = column(output, 0);
    Var index = filled(graph, {output.shape()[0], 1}, 0.0);
    for (std::int64_t i = 1; i < output.shape()[1]; ++i) {
        const Var other = column(output, i);
        const Var larger = less(largest, other);
        index = select(larger, constant(graph, static_cast<double>(i)), index);
        largest = select(larger, other, largest);
    }
    return index;
}

Var outside(Var x, double limit) {
    return less(constant(*x.graph, limit), abs(x));
}

std::array<Var, 2> normals(Var first, Var second) {
    const Var radius = sqrt(log(1.0 - first) * -2.0);
    const Var angle = second * (2.0 * std::numbers::pi);
    return {radius * cos(angle), radius * sin(angle)};
}

}  // namespace cambrian::evolve
