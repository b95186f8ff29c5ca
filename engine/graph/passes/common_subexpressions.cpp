#include <algorithm>
#include <unordered_map>

#include "cambrian/engine/graph/graph_copy.hpp"
#include "cambrian/engine/graph/graph_equality.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"

namespace cambrian {
namespace {

/// Numbers values so that equal numbers mean equal values: the first node that computes a value
/// stands for all that do.
class ValueNumbers {
  public:
    explicit ValueNumbers(const Graph& graph) : graph_(graph) {}

    /// The earlier node that computes the same, or null; then the node stands for itself.
    [[nodiscard]] const Node* earlier(const Node& node, std::span<const Var> operands) {
        const auto [first, last] = nodes_.equal_range(hash(node, operands));
        for (auto it = first; it != last; ++it)
            if (same(it->second, node, operands)) return it->second.node;
        nodes_.emplace(hash(node, operands),
                       Entry{&node, std::vector<Var>(operands.begin(), operands.end())});
        return nullptr;
    }

  private:
    struct Entry {
        const Node* node = nullptr;
        std::vector<Var> operands;  ///< In the graph that is built: there equal values are one.
    };

    [[nodiscard]] std::uint64_t hash(const Node& node, std::span<const Var> operands) const {
        std::uint64_t key = attribute_hash(node.attributes);
        mix(key, static_cast<std::uint64_t>(node.op));
        for (const Var operand : operands) mix(key, static_cast<std::uint64_t>(operand.id));
        for (const std::int64_t extent : graph_.value(ValueId{node.first_result}).shape.extents())
            mix(key, static_cast<std::uint64_t>(extent));
        return key;
    }

    [[nodiscard]] static bool same(const Entry& entry, const Node& node,
                                   std::span<const Var> operands) {
        const auto one = [](Var a, Var b) { return a.id == b.id; };
        return entry.node->op == node.op &&
               std::ranges::equal(std::span(entry.operands), operands, one) &&
               same_attributes(entry.node->attributes, node.attributes);
    }

    const Graph& graph_;
    std::unordered_multimap<std::uint64_t, Entry> nodes_;
};

}  // namespace

Graph eliminate_common_subexpressions(const Graph& graph) {
    Graph result;
    GraphCopy copy(graph, result);
    ValueNumbers numbers(graph);
    for (const Node& node : graph.nodes()) {
        if (node.op == Op::input) {
            copy.copy(node);
        } else if (const Node* same = numbers.earlier(node, copy.operands(node))) {
            for (std::uint32_t i = 0; i < node.result_count; ++i)
                copy.map(ValueId{node.first_result + i},
                         copy.mapped(ValueId{same->first_result + i}));
        } else if (node.op == Op::scan) {
            copy.copy(node, with_body(node, eliminate_common_subexpressions));
        } else {
            copy.copy(node);
        }
    }
    copy.outputs();
    return result;
}

}  // namespace cambrian
