#include "cambrian/engine/graph/gradient/gradient.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/engine/graph/graph_copy.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"

namespace cambrian {
namespace {

bool contains(std::span<const std::string> names, const std::string& name) {
    return std::ranges::find(names, name) != names.end();
}

[[noreturn]] void fail_name(const std::string& name, const std::vector<std::string>& known) {
    const std::vector<std::string_view> candidates(known.begin(), known.end());
    const auto nearest = nearest_name(name, candidates);
    throw ShapeError("no value is named '" + name + "' (" + std::to_string(known.size()) +
                     " have names) " +
                     (nearest ? "did you mean '" + std::string(*nearest) + "'?"
                              : "name it with Graph::capture"));
}

void collect(const Graph& graph, std::vector<std::string>& names) {
    const auto add = [&](const std::string& name) {
        if (contains(names, name))
            throw ShapeError("two values are captured as '" + name +
                             "' (a graph and the bodies of its scans share their names) name "
                             "one of them differently");
        names.push_back(name);
    };
    for (const Node& node : graph.nodes()) {
        if (node.op == Op::scan) collect(*std::get<ScanAttribute>(node.attributes).body, names);
        for (const Capture& capture : graph.captures())
            if (static_cast<std::uint32_t>(capture.value) - node.first_result < node.result_count)
                add(capture.name);
    }
}

/// A graph with some of its captures, and those of bodies in it, as further outputs.
class Exposure {
  public:
    Exposure(const Graph& source, std::span<const std::string> names)
        : source_(source), names_(names), copy_(source, result_), found_(names.size()) {}

    Graph run() {
        for (const Node& node : source_.nodes())
            if (node.op == Op::scan)
                copy_scan(node);
            else
                copy_.copy(node);
        for (const Capture& capture : source_.captures())
            find(capture.name, copy_.mapped(capture.value));
        copy_.outputs();
        for (const Var value : found_) result_.output(value);
        return std::move(result_);
    }

  private:
    void find(const std::string& name, Var value) {
        for (std::size_t i = 0; i < names_.size(); ++i)
            if (names_[i] == name) found_[i] = value;
    }

    void copy_scan(const Node& node) {
        ScanAttribute scan = std::get<ScanAttribute>(node.attributes);
        std::vector<std::string> inner = capture_names(*scan.body);
        std::erase_if(inner, [&](const std::string& name) { return !contains(names_, name); });
        if (inner.empty()) return copy_.copy(node);
        Graph body = Exposure(*scan.body, inner).run();
        // All steps are taken, and those after the end of an individual must not fail.
        if (scan.alive_carry >= 0) body = guard_body(body, std::exchange(scan.alive_carry, -1));
        scan.body = std::make_shared<const Graph>(std::move(body));
        copy_.copy(node, std::move(scan));
        // The body's new outputs are results of the scan after those it had.
        const Var first = copy_.mapped(ValueId{node.first_result});
        for (std::size_t i = 0; i < inner.size(); ++i)
            find(inner[i],
                 {first.graph, ValueId{static_cast<std::uint32_t>(
                                   static_cast<std::size_t>(first.id) + node.result_count + i)}});
    }

    const Graph& source_;
    std::span<const std::string> names_;
    Graph result_;
    GraphCopy copy_;
    std::vector<Var> found_;  ///< One for each name.
};

/// The value that a name stands for, as a capture or as an input.
Var named_value(Graph& graph, const std::string& name) {
    std::vector<std::string> known;
    for (const Capture& capture : graph.captures()) {
        if (capture.name == name) return {&graph, capture.value};
        known.push_back(capture.name);
    }
    for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
        if (graph.input_name(i) == name) return {&graph, graph.inputs()[i]};
        known.push_back(graph.input_name(i));
    }
    fail_name(name, known);
}

}  // namespace

std::vector<std::string> capture_names(const Graph& graph) {
    std::vector<std::string> names;
    collect(graph, names);
    return names;
}

Graph with_captures(const Graph& graph, std::span<const std::string> names) {
    const std::vector<std::string> known = capture_names(graph);
    for (const std::string& name : names)
        if (!contains(known, name)) fail_name(name, known);
    return Exposure(graph, names).run();
}

void capture_gradients(Var value, std::span<const std::string> names) {
    Graph& graph = *value.graph;
    std::vector<Var> wanted;
    for (const std::string& name : names) {
        wanted.push_back(named_value(graph, name));
        if (wanted.back().info().type != ValueType::real)
            throw ShapeError("'" + name + "' has no gradient (it is " +
                             std::string(cambrian::name(wanted.back().info().type)) +
                             ") name a real value");
    }
    const std::vector<Var> gradients = gradient(value, wanted);
    for (std::size_t i = 0; i < names.size(); ++i)
        graph.capture(names[i] + ".gradient", gradients[i]);
}

}  // namespace cambrian
