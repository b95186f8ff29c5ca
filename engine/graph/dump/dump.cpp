#include "cambrian/engine/graph/dump/text.hpp"
#include "cambrian/engine/graph/graph.hpp"

namespace cambrian {
namespace {

std::string labels(std::span<const ValueId> ids) {
    std::string text;
    for (const ValueId id : ids) text += (text.empty() ? "" : ", ") + value_label(id);
    return text;
}

std::string node_line(const Graph& graph, const Node& node) {
    std::string text;
    for (std::uint32_t id = node.first_result; id < node.first_result + node.result_count; ++id) {
        if (!text.empty()) text += ", ";
        text += value_label(ValueId{id}) + " " + info_text(graph.value(ValueId{id}));
    }
    text += " = " + std::string(name(node.op)) + "(" + labels(graph.operands(node)) + ")";
    const std::string attributes = attribute_text(graph, node);
    return attributes.empty() ? text : text + " {" + attributes + "}";
}

std::string dump_indented(const Graph& graph, const std::string& indent) {
    std::string text;
    for (const Node& node : graph.nodes()) {
        text += indent + node_line(graph, node) + "\n";
        if (const Graph* body = body_of(node)) text += dump_indented(*body, indent + "    ");
    }
    text += indent + "outputs " + labels(graph.outputs()) + "\n";
    for (const Update& update : graph.updates())
        text += indent + "update " + value_label(graph.inputs()[update.input]) + " = " +
                value_label(graph.outputs()[update.output]) + "\n";
    return text;
}

}  // namespace

std::string dump(const Graph& graph) {
    return dump_indented(graph, "");
}

}  // namespace cambrian
