#include "cambrian/engine/graph/dump/text.hpp"
#include "cambrian/engine/graph/graph.hpp"

namespace cambrian {
namespace {

std::string quoted(const std::string& text) {
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') result += '\\';
        result += c == '\n' ? ' ' : c;
    }
    return result + "\"";
}

/// Nodes of a graph and of the bodies in it; `prefix` tells them apart.
class DotWriter {
  public:
    std::string write(const Graph& graph) {
        text_ = "digraph graph_of_ops {\n  node [shape=box];\n";
        add(graph, "n", "  ");
        return text_ + "}\n";
    }

  private:
    void add(const Graph& graph, const std::string& prefix, const std::string& indent) {
        const auto node_name = [&](ValueId id) {
            return prefix + std::to_string(&graph.producer(id) - graph.nodes().data());
        };
        for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
            const Node& node = graph.nodes()[i];
            const std::string own = prefix + std::to_string(i);
            add_node(graph, node, own, indent);
            for (const ValueId id : graph.operands(node))
                text_ += indent + node_name(id) + " -> " + own +
                         " [label=" + quoted(value_label(id) + " " + info_text(graph.value(id))) +
                         "];\n";
            if (const Graph* body = body_of(node)) add_body(*body, own, indent);
        }
        for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
            const std::string output = prefix + "_output_" + std::to_string(i);
            text_ += indent + output +
                     " [shape=ellipse, label=" + quoted("output " + std::to_string(i)) + "];\n" +
                     indent + node_name(graph.outputs()[i]) + " -> " + output + ";\n";
        }
    }

    void add_node(const Graph& graph, const Node& node, const std::string& own,
                  const std::string& indent) {
        const std::string attributes = attribute_text(graph, node);
        std::string label(name(node.op));
        if (!attributes.empty()) label += " " + attributes;
        const bool bound = is_bound(node.op);
        text_ += indent + own + " [" + (bound ? "shape=ellipse, " : "") + "label=" + quoted(label) +
                 "];\n";
    }

    void add_body(const Graph& body, const std::string& own, const std::string& indent) {
        text_ += indent + "subgraph cluster_" + own + " {\n" + indent +
                 "  label=" + quoted("body of " + own) + ";\n";
        add(body, own + "_", indent + "  ");
        text_ += indent + "}\n";
    }

    std::string text_;
};

}  // namespace

std::string dump_dot(const Graph& graph) {
    return DotWriter().write(graph);
}

}  // namespace cambrian
