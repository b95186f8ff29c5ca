#include "cambrian/engine/cpu/lanes/transposed_kernels.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "cambrian/engine/reference/kernels.hpp"

namespace cambrian::cpu {

namespace {

constexpr std::array moving_ops{Op::reshape, Op::permute, Op::broadcast,    Op::slice,
                                Op::concat,  Op::flip,    Op::stop_gradient};

}  // namespace

ElementRows consecutive_rows(const ElementRow& first, std::int64_t count) {
    ElementRows rows(static_cast<std::size_t>(count), first);
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i].index += static_cast<std::int64_t>(i);
    return rows;
}

bool only_moves(Op op) {
    return std::ranges::find(moving_ops, op) != moving_ops.end();
}

// The reference moves the numbers of the operands' elements.
ElementRows moved_rows(const Graph& graph, const Node& node,
                       std::span<const ElementRows* const> operands) {
    ElementRows all;
    std::vector<reference::Elements> numbers;
    for (const ElementRows* const rows : operands) {
        reference::Elements& own = numbers.emplace_back(rows->size());
        std::iota(own.begin(), own.end(), static_cast<double>(all.size()));
        all.insert(all.end(), rows->begin(), rows->end());
    }
    std::vector<const reference::Elements*> pointers;
    for (const reference::Elements& own : numbers) pointers.push_back(&own);
    const std::int64_t elements = graph.value(ValueId{node.first_result}).shape.elements();
    std::array<reference::Elements, 1> result{
        reference::Elements(static_cast<std::size_t>(elements))};
    reference::kernel(node.op)({graph, node, Precision::f64, pointers, result});
    ElementRows moved;
    moved.reserve(result[0].size());
    for (const double number : result[0]) moved.push_back(all[static_cast<std::size_t>(number)]);
    return moved;
}

ElementRows broadcast_rows(const ElementRows& rows, const Shape& shape, const Shape& result) {
    const reference::BroadcastIndex index(shape, result);
    ElementRows all(static_cast<std::size_t>(result.elements()));
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = rows[index(i)];
    return all;
}

}  // namespace cambrian::cpu
