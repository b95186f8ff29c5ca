#include <algorithm>
#include <map>

#include "cambrian/engine/graph/graph_copy.hpp"
#include "cambrian/engine/graph/passes/fusion_group.hpp"

namespace cambrian {
namespace {

/// A reduction inside a fusion group keeps its axis.
Attributes kept(const Node& node) {
    if (!is_fold(node.op)) return node.attributes;
    AxisAttribute axis = std::get<AxisAttribute>(node.attributes);
    axis.keep = true;
    return axis;
}

Graph fused_body(const Graph& graph, const FusionGroup& region, const FusionGroupFinder& finder) {
    Graph body;
    GraphCopy copy(graph, body);
    for (std::size_t i = 0; i < region.operands.size(); ++i) {
        const ValueInfo& info = graph.value(region.operands[i]);
        copy.map(region.operands[i], body.input("operand " + std::to_string(i), info.type,
                                                info.shape, info.per_individual));
    }
    for (const std::size_t index : region.nodes) {
        const Node& node = graph.nodes()[index];
        for (const ValueId id : graph.operands(node))
            if (finder.is_literal(id) && copy.mapped(id).graph == nullptr)
                copy.copy(graph.producer(id));
        copy.copy(node, kept(node));
    }
    body.output(copy.mapped(ValueId{graph.nodes()[region.nodes.back()].first_result}));
    return body;
}

/// Appends the region as one chain, and its result in the root's own shape.
void copy_fused(const Graph& graph, const FusionGroup& region, const FusionGroupFinder& finder,
                Graph& target, GraphCopy& copy) {
    const Node& root = graph.nodes()[region.nodes.back()];
    const ValueId result{root.first_result};
    FusedAttribute fused{std::make_shared<const Graph>(fused_body(graph, region, finder))};
    std::vector<Var> operands;
    for (const ValueId id : region.operands) operands.push_back(copy.mapped(id));
    Var value = target.add(Op::fused, operands, std::move(fused), root.where);
    const Shape& shape = graph.value(result).shape;
    if (value.shape() != shape)
        value = target.add(Op::reshape, std::span(&value, 1), ShapeAttribute{shape}, root.where);
    copy.map(result, value);
}

/// Regions by their roots.
std::map<std::size_t, FusionGroup> find_regions(const Graph& graph, FusionGroupFinder& finder) {
    std::map<std::size_t, FusionGroup> regions;
    for (std::size_t root = graph.nodes().size(); root-- > 0;) {
        std::optional<FusionGroup> region = finder.find(root);
        if (!region) continue;
        finder.claim(*region);
        regions.emplace(root, std::move(*region));
    }
    return regions;
}

/// Whether a node stays outside of all fusion groups: its result is read by a node that does, it is
/// an operand of a fusion group or nothing reads it at all.
std::vector<bool> nodes_to_copy(const Graph& graph,
                                const std::map<std::size_t, FusionGroup>& regions) {
    std::vector<bool> inside(graph.nodes().size(), false);
    for (const auto& [root, region] : regions)
        for (const std::size_t node : region.nodes) inside[node] = true;
    // Literals go into the bodies; one stays where somebody else reads it too, or nobody.
    std::vector<bool> read_inside(graph.value_count(), false);
    std::vector<bool> read_outside(graph.value_count(), false);
    for (std::size_t i = 0; i < graph.nodes().size(); ++i)
        for (const ValueId id : graph.operands(graph.nodes()[i]))
            (inside[i] ? read_inside : read_outside)[static_cast<std::size_t>(id)] = true;
    for (const ValueId id : graph.outputs()) read_outside[static_cast<std::size_t>(id)] = true;
    for (const auto& [root, region] : regions)
        for (const ValueId id : region.operands) read_outside[static_cast<std::size_t>(id)] = true;
    std::vector<bool> copied(graph.nodes().size(), false);
    for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
        const std::uint32_t value = graph.nodes()[i].first_result;
        const bool only_inside =
            graph.nodes()[i].op == Op::constant && read_inside[value] && !read_outside[value];
        copied[i] = !inside[i] && !only_inside;
    }
    return copied;
}

}  // namespace

bool may_hold_fusion_groups(const Graph& graph, const FusionRules& rules) {
    return std::ranges::any_of(graph.nodes(), [&](const Node& node) {
        if (node.op == Op::scan)
            return may_hold_fusion_groups(*std::get<ScanAttribute>(node.attributes).body, rules);
        const bool reduces = is_fold(node.op);
        if (!reduces && !is_elementwise(node.op) && node.op != Op::broadcast) return false;
        const ValueId largest = reduces ? graph.operands(node)[0] : ValueId{node.first_result};
        return graph.value(largest).shape.elements() >= rules.min_elements;
    });
}

Graph fuse_elementwise(const Graph& graph, const FusionRules& rules) {
    FusionGroupFinder finder(graph, rules);
    const std::map<std::size_t, FusionGroup> regions = find_regions(graph, finder);
    const std::vector<bool> copied = nodes_to_copy(graph, regions);
    Graph result;
    GraphCopy copy(graph, result);
    for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
        const Node& node = graph.nodes()[i];
        if (const auto region = regions.find(i); region != regions.end()) {
            copy_fused(graph, region->second, finder, result, copy);
        } else if (copied[i] && node.op == Op::scan) {
            const auto pass = [&](const Graph& body) { return fuse_elementwise(body, rules); };
            copy.copy(node, with_body(node, pass));
        } else if (copied[i]) {
            copy.copy(node);
        }
    }
    copy.outputs();
    return result;
}

}  // namespace cambrian
