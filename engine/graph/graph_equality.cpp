#include "cambrian/engine/graph/graph_equality.hpp"

#include <algorithm>
#include <concepts>
#include <cstring>

#include "cambrian/engine/core/hash.hpp"

namespace cambrian {
namespace {

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

}  // namespace

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

std::uint64_t structure_hash(const Graph& graph) {
    std::uint64_t key = graph.value_count();
    for (const Node& node : graph.nodes()) {
        mix(key, static_cast<std::uint64_t>(node.op));
        mix(key, attribute_hash(node.attributes));
        for (const ValueId id : graph.operands(node)) mix(key, static_cast<std::uint64_t>(id));
        for (const std::int64_t extent : graph.value(ValueId{node.first_result}).shape.extents())
            mix(key, static_cast<std::uint64_t>(extent));
    }
    for (const ValueId id : graph.outputs()) mix(key, static_cast<std::uint64_t>(id));
    return key;
}

}  // namespace cambrian
