#include <algorithm>
#include <concepts>
#include <cstring>
#include <unordered_map>

#include "cambrian/engine/core/hash.hpp"
#include "cambrian/engine/graph/graph_copy.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"

namespace cambrian {
namespace {

/// Whether two nodes of one op with the same operands compute the same: constants by their bits,
/// bodies by their nodes.
bool same_attributes(const Attributes& a, const Attributes& b);
/// Whether two graphs have the same nodes, batch axes and outputs.
bool same_graph(const Graph& a, const Graph& b);
/// Equal for the same attributes; tells apart what the shapes of results do not.
std::uint64_t attribute_hash(const Attributes& attributes);

/// Elements of a constant that its hash looks at.
constexpr std::size_t hashed_elements = 64;

bool same_elements(const std::vector<double>& a, const std::vector<double>& b) {
    return a.size() == b.size() &&
           (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

bool same(const ConstantAttribute& a, const ConstantAttribute& b) {
    return a.value == b.value ||
           (a.value->type == b.value->type && a.value->shape == b.value->shape &&
            same_elements(a.value->elements, b.value->elements));
}
bool same(const InputAttribute& a, const InputAttribute& b) {
    return *a.name == *b.name && a.type == b.type && a.shape == b.shape;
}
bool same(const FusedAttribute& a, const FusedAttribute& b) {
    return same_graph(*a.body, *b.body);
}
bool same(const ScanAttribute& a, const ScanAttribute& b) {
    return a.length == b.length && a.carries == b.carries && a.sequences == b.sequences &&
           a.reverse == b.reverse && a.alive_carry == b.alive_carry && a.truncate == b.truncate &&
           a.checkpoint_every == b.checkpoint_every && same_graph(*a.body, *b.body);
}
template <std::equality_comparable Attribute>
bool same(const Attribute& a, const Attribute& b) {
    return a == b;
}

bool same_attributes(const Attributes& a, const Attributes& b) {
    return std::visit(
        [&]<class Attribute>(const Attribute& attribute) {
            const auto* other = std::get_if<Attribute>(&b);
            return other != nullptr && same(attribute, *other);
        },
        a);
}

bool same_graph(const Graph& a, const Graph& b) {
    if (&a == &b) return true;
    if (a.nodes().size() != b.nodes().size() || a.value_count() != b.value_count() ||
        !std::ranges::equal(a.outputs(), b.outputs()) ||
        !std::ranges::equal(a.inputs(), b.inputs()))
        return false;
    for (const ValueId id : a.inputs())
        if (a.value(id) != b.value(id)) return false;
    return std::ranges::equal(a.nodes(), b.nodes(), [&](const Node& left, const Node& right) {
        return left.op == right.op && std::ranges::equal(a.operands(left), b.operands(right)) &&
               same_attributes(left.attributes, right.attributes);
    });
}

std::uint64_t attribute_hash(const Attributes& attributes) {
    if (const auto* slice = std::get_if<SliceAttribute>(&attributes))
        return static_cast<std::uint64_t>(slice->start) * 31U +
               static_cast<std::uint64_t>(slice->axis) + 1U;
    if (const auto* constant = std::get_if<ConstantAttribute>(&attributes)) {
        const std::span<const double> elements(constant->value->elements);
        return hash64(std::as_bytes(elements.first(std::min(elements.size(), hashed_elements))));
    }
    return 0;
}

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
        const auto mix = [&](std::uint64_t word) {
            key = (key ^ word) * 0x9E3779B97F4A7C15U;
            key ^= key >> 29U;
        };
        mix(static_cast<std::uint64_t>(node.op));
        for (const Var operand : operands) mix(static_cast<std::uint64_t>(operand.id));
        for (const std::int64_t extent : graph_.value(ValueId{node.first_result}).shape.extents())
            mix(static_cast<std::uint64_t>(extent));
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
