#include <algorithm>

#include "cambrian/engine/graph/graph_copy.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"
#include "cambrian/engine/graph/plan/liveness.hpp"

namespace cambrian {
namespace {

/// A value with elements of its own: joining one part is no view.
Var copied(Graph& graph, Var value, std::source_location where) {
    const Shape shape = value.shape();
    const auto append = [&](Op op, Attributes attributes) {
        value = graph.add(op, std::span(&value, 1), std::move(attributes), where);
    };
    if (shape.rank() == 0) append(Op::reshape, ShapeAttribute{Shape{1}});
    append(Op::concat, AxisAttribute{});
    if (shape.rank() == 0) append(Op::reshape, ShapeAttribute{shape});
    return value;
}

}  // namespace

Graph separate_updates(const Graph& graph) {
    const Liveness live = liveness(graph);
    const auto root = [&](std::size_t output) {
        return live.roots[static_cast<std::size_t>(graph.outputs()[output])];
    };
    const auto is_replaced = [&](ValueId id) {
        return std::ranges::any_of(graph.updates(), [&](const Update& update) {
            return graph.inputs()[update.input] == id;
        });
    };
    std::vector<bool> copies(graph.outputs().size(), false);
    for (const Update& update : graph.updates())
        copies[update.output] = is_replaced(root(update.output));
    if (std::ranges::find(copies, true) == copies.end()) return graph;

    Graph result;
    GraphCopy copy(graph, result);
    for (const Node& node : graph.nodes()) copy.copy(node);
    std::vector<Var> outputs;
    for (std::size_t i = 0; i < copies.size(); ++i) {
        const Var value = copy.mapped(graph.outputs()[i]);
        outputs.push_back(
            copies[i] ? copied(result, value, graph.producer(graph.outputs()[i]).where) : value);
    }
    for (std::size_t i = 0; i < copies.size(); ++i) {
        const auto update = std::ranges::find(graph.updates(), i, &Update::output);
        if (update == graph.updates().end())
            result.output(outputs[i]);
        else
            result.update(copy.mapped(graph.inputs()[update->input]), outputs[i]);
    }
    return result;
}

}  // namespace cambrian
