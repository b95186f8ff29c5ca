#include "cambrian/engine/graph/plan/liveness.hpp"

#include <algorithm>

namespace cambrian {
namespace {

/// Whether a permutation leaves the elements where they are: axes of extent 1 may go anywhere.
bool keeps_order(const Shape& shape, const PermuteAttribute& permute) {
    int previous = -1;
    for (int i = 0; i < shape.rank(); ++i) {
        const int axis = permute.order[static_cast<std::size_t>(i)];
        if (shape[axis] == 1) continue;
        if (axis < previous) return false;
        previous = axis;
    }
    return true;
}

/// Offset of a slice whose elements lie together, or nothing.
std::optional<std::int64_t> contiguous_offset(const Shape& shape, const SliceAttribute& slice) {
    std::int64_t inner = 1;
    for (int axis = 0; axis < shape.rank(); ++axis) {
        if (axis < slice.axis && shape[axis] != 1) return std::nullopt;
        if (axis > slice.axis) inner *= shape[axis];
    }
    return slice.start * inner;
}

}  // namespace

std::optional<AliasOf> alias_of(const Graph& graph, const Node& node) {
    if (node.operand_count != 1 || node.result_count != 1) return std::nullopt;
    const ValueId operand = graph.operands(node)[0];
    const ValueInfo& from = graph.value(operand);
    const ValueInfo& to = graph.value(ValueId{node.first_result});
    if (node.op == Op::reshape || node.op == Op::stop_gradient) return AliasOf{operand, 0};
    if (node.op == Op::cast && from.type == to.type) return AliasOf{operand, 0};
    if (node.op == Op::broadcast && from.shape.elements() == to.shape.elements())
        return AliasOf{operand, 0};
    if (const auto* permute = std::get_if<PermuteAttribute>(&node.attributes);
        permute != nullptr && keeps_order(from.shape, *permute))
        return AliasOf{operand, 0};
    if (const auto* slice = std::get_if<SliceAttribute>(&node.attributes))
        if (const auto offset = contiguous_offset(from.shape, *slice))
            return AliasOf{operand, *offset};
    return std::nullopt;
}

Liveness liveness(const Graph& graph) {
    Liveness result;
    result.intervals.resize(graph.value_count());
    for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
        const Node& node = graph.nodes()[i];
        const auto alias = alias_of(graph, node);
        for (std::uint32_t id = node.first_result; id < node.first_result + node.result_count;
             ++id) {
            const auto operand = alias ? static_cast<std::size_t>(alias->operand) : 0;
            result.roots.push_back(alias ? result.roots[operand] : ValueId{id});
            result.offsets.push_back(alias ? result.offsets[operand] + alias->offset : 0);
            result.intervals[id].first = result.intervals[id].last = static_cast<std::uint32_t>(i);
        }
    }
    const auto keep = [&](ValueId id, std::size_t until) {
        result.intervals[static_cast<std::size_t>(id)].needed = true;
        Interval& root =
            result.intervals[static_cast<std::size_t>(result.roots[static_cast<std::size_t>(id)])];
        root.needed = true;
        root.last = std::max(root.last, static_cast<std::uint32_t>(until));
    };
    for (const ValueId id : graph.outputs()) keep(id, graph.nodes().size());
    for (std::size_t i = graph.nodes().size(); i-- > 0;) {
        const Node& node = graph.nodes()[i];
        const auto first = result.intervals.begin() + node.first_result;
        const auto end = first + node.result_count;
        if (std::none_of(first, end, [](const Interval& interval) { return interval.needed; }))
            continue;
        // A scan writes all its results, so each needs a place while it runs.
        std::for_each(first, end, [](Interval& interval) { interval.needed = true; });
        if (alias_of(graph, node)) continue;
        for (const ValueId id : graph.operands(node)) keep(id, i);
    }
    return result;
}

}  // namespace cambrian
