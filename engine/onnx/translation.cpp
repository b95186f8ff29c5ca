#include "cambrian/engine/onnx/translation.hpp"

#include <algorithm>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/graph/graph_copy.hpp"
#include "cambrian/engine/onnx/node_writer.hpp"

namespace cambrian::onnx {
namespace {

std::size_t index_of(ValueId id) {
    return static_cast<std::size_t>(id);
}

bool is_empty(const Graph& graph, const Node& node) {
    for (std::uint32_t i = 0; i < node.result_count; ++i)
        if (graph.value(ValueId{node.first_result + i}).shape.elements() != 0) return false;
    return true;
}

/// Writes a node, or, where nothing is in its results, constants without elements.
void write_node(Builder& builder, const Graph& graph, const Node& node,
                std::vector<Place>& places) {
    const NodeWriter writer(builder, graph, node, places);
    if (is_empty(graph, node)) {
        for (std::size_t i = 0; i < node.result_count; ++i)
            writer.give(
                Place::of_constant(Tensor(writer.result(i).type, writer.result(i).shape), "empty"),
                i);
        return;
    }
    const OpRow* const row = op_row(node.op);
    CAMBRIAN_EXPECT(row != nullptr);
    row->write(writer, row->operation);
}

}  // namespace

std::string written(Builder& builder, Place& place) {
    if (!place.written) {
        const auto extents = place.constant->shape.extents();
        place.name = builder.constant(place.name, element_type(place.constant->type),
                                      {extents.begin(), extents.end()}, place.constant->elements());
        place.written = true;
    }
    return place.name;
}

std::vector<Place> translate_places(Builder& builder, const Graph& graph,
                                    std::vector<Place> inputs) {
    CAMBRIAN_EXPECT(inputs.size() == graph.inputs().size());
    std::vector<Place> places(graph.value_count());
    for (std::size_t i = 0; i < inputs.size(); ++i)
        places[index_of(graph.inputs()[i])] = std::move(inputs[i]);
    for (const Node& node : graph.nodes())
        if (node.result_count > 0 && !std::holds_alternative<InputAttribute>(node.attributes))
            write_node(builder, graph, node, places);
    std::vector<Place> outputs;
    for (const ValueId id : graph.outputs()) outputs.push_back(places[index_of(id)]);
    return outputs;
}

std::string with_batch(Builder& builder, Place& place, const ValueInfo& info) {
    const std::string name = written(builder, place);
    return place.batched ? name : builder.spread(name, info.shape.rank());
}

std::vector<std::string> translate(Builder& builder, const Graph& graph,
                                   std::vector<Place> inputs) {
    std::vector<Place> places = translate_places(builder, graph, std::move(inputs));
    std::vector<std::string> names;
    for (std::size_t i = 0; i < places.size(); ++i)
        names.push_back(with_batch(builder, places[i], graph.value(graph.outputs()[i])));
    return names;
}

bool has_nodes(Op op) {
    return op_row(op) != nullptr;
}

RefusedOp refused_op(const Graph& graph) {
    for (const Node& node : graph.nodes()) {
        if (const ScanAttribute* const loop = loop_of(node)) {
            if (const RefusedOp inside = refused_op(*loop->body); inside.op != nullptr)
                return inside;
            continue;
        }
        const OpInfo& info = op_info(node.op);
        if (is_bound(node.op) || info.lowering != nullptr || has_nodes(node.op)) continue;
        RefusedOp refused{.op = &info};
        // Slots are computed one after another: the first value with a name after this one.
        std::optional<ValueId> next;
        for (const Capture& capture : graph.captures())
            if (index_of(capture.value) >= node.first_result && (!next || capture.value < *next)) {
                next = capture.value;
                refused.capture = capture.name;
            }
        return refused;
    }
    return {};
}

}  // namespace cambrian::onnx
