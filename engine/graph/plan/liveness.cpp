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

namespace {

bool is_in_place_op(const Node& node) {
    if (node.result_count != 1) return false;
    if (node.op != Op::fused) return is_elementwise(node.op);
    const Graph& body = *std::get<FusedAttribute>(node.attributes).body;
    return std::ranges::all_of(body.nodes(), [](const Node& inner) {
        return is_bound(inner.op) || inner.op == Op::broadcast || inner.op == Op::reshape ||
               is_elementwise(inner.op);
    });
}

}  // namespace

bool reads_in_place(const Graph& graph, const Liveness& live, const Node& node, ValueId root) {
    const std::int64_t elements = graph.value(ValueId{node.first_result}).shape.elements();
    return is_in_place_op(node) && std::ranges::all_of(graph.operands(node), [&](ValueId id) {
               const auto operand = static_cast<std::size_t>(id);
               return live.roots[operand] != root ||
                      (live.offsets[operand] == 0 && graph.value(id).shape.elements() == elements &&
                       graph.value(root).shape.elements() == elements);
           });
}

bool replaces_directly(const Graph& graph, const Liveness& live, const Update& update) {
    const ValueId input = graph.inputs()[update.input];
    const auto output = static_cast<std::size_t>(graph.outputs()[update.output]);
    const ValueId value = live.roots[output];
    const Op op = graph.producer(value).op;
    const bool is_whole = live.offsets[output] == 0 && graph.value(value).shape.elements() ==
                                                           graph.value(input).shape.elements();
    if (is_bound(op) || !is_whole) return false;
    const std::uint32_t written = live.intervals[static_cast<std::size_t>(value)].first;
    const std::uint32_t last_read = live.intervals[static_cast<std::size_t>(input)].last;
    return last_read < written ||
           (last_read == written && reads_in_place(graph, live, graph.nodes()[written], input));
}

}  // namespace cambrian
