#pragma once

#include <memory>
#include <span>
#include <vector>

#include "cambrian/engine/graph/graph.hpp"

namespace cambrian {

/// Copies the nodes of `source` into `target` with source's inputs replaced by `inputs` (shapes and
/// types must agree); returns source's outputs as values of target.
std::vector<Var> inline_graph(Graph& target, const Graph& source, std::span<const Var> inputs);

/// Copies nodes of one graph into another and remembers which value became which. Internal to
/// engine/graph.
class GraphCopy {
  public:
    GraphCopy(const Graph& source, Graph& target)
        : source_(source), target_(target), values_(source.value_count()) {}

    /// Appends the node; inputs keep name, type, shape and batch axis.
    void copy(const Node& node);
    /// Appends the node with other attributes and as many results.
    void copy(const Node& node, Attributes attributes);
    /// The results of a node became those from `first` on.
    void map_results(const Node& node, Var first);
    void map(ValueId from, Var to) { values_[static_cast<std::size_t>(from)] = to; }
    [[nodiscard]] Var mapped(ValueId id) const { return values_[static_cast<std::size_t>(id)]; }
    [[nodiscard]] std::vector<Var> operands(const Node& node) const;
    /// Declares what the outputs of the source became as outputs of the target, with the updates.
    /// All inputs must have been copied.
    void outputs();
    /// Declares what some values of the source became as outputs of the target.
    void output(std::span<const ValueId> outputs);

  private:
    const Graph& source_;
    Graph& target_;
    std::vector<Var> values_;
};

/// The loop of a scan; null for a node of any other op.
[[nodiscard]] inline const ScanAttribute* loop_of(const Node& node) {
    return std::get_if<ScanAttribute>(&node.attributes);
}

/// The attributes of a scan with its body passed through a pass.
template <class Pass>
[[nodiscard]] ScanAttribute with_body(const Node& node, const Pass& pass) {
    ScanAttribute scan = std::get<ScanAttribute>(node.attributes);
    scan.body = std::make_shared<const Graph>(pass(*scan.body));
    return scan;
}

}  // namespace cambrian
