#include "cambrian/engine/cpu/fused/code.hpp"

#include <algorithm>
#include <array>

namespace cambrian::cpu {

namespace {

/// Their loops cost no more than reading a value back.
constexpr std::array cheap_ops{Op::add, Op::sub, Op::mul};

/// Whether the elements of a node's result are its operand's, seen in another shape.
bool is_view(const Graph& body, const Node& node) {
    return is_movement(node.op) || node.op == Op::stop_gradient ||
           (node.op == Op::cast &&
            body.value(body.operands(node)[0]).type == body.value(ValueId{node.first_result}).type);
}

}  // namespace

FusedPasses::FusedPasses(const Graph& body, const FusedAxes& axes) {
    const std::size_t values = body.value_count();
    root.resize(values);
    view.assign(values, 0);
    level.assign(values, Level::one);
    ready.assign(values, 0);
    pass.assign(values, -1);
    kept.assign(values, false);
    folded.assign(values, false);
    find_levels(body, axes);
    const ValueId result = body.outputs()[0];
    passes = ready[static_cast<std::size_t>(result)] + 1;
    again_.resize(static_cast<std::size_t>(passes));
    for (int now = 0; now < passes; ++now) {
        for (const Node& node : body.nodes())
            if (is_fold(node.op) && pass[node.first_result] == now)
                need(body, body.operands(node)[0], now);
        if (now + 1 == passes) need(body, result, now);
    }
}

void FusedPasses::find_levels(const Graph& body, const FusedAxes& axes) {
    std::size_t next_view = 1;
    for (const Node& node : body.nodes()) {
        const std::uint32_t value = node.first_result;
        root[value] = value;
        for (const ValueId operand : body.operands(node)) {
            const std::size_t from = root[static_cast<std::size_t>(operand)];
            ready[value] = std::max(ready[value], ready[from]);
            level[value] = std::max(level[value], level[from]);
            if (is_view(body, node)) root[value] = from;
        }
        if (node.op == Op::input) {
            view[value] = next_view;
            level[value] = axes.level(next_view++);
        } else if (is_fold(node.op)) {
            folded[root[static_cast<std::size_t>(body.operands(node)[0])]] = true;
            pass[value] = ready[value]++;
            level[value] = Level::row;
        }
    }
}

/// Marks what is full and not there yet, of all that a value is computed from in a pass.
void FusedPasses::need(const Graph& body, ValueId id, int now) {
    const std::size_t value = root[static_cast<std::size_t>(id)];
    const Node& node = body.producer(ValueId{static_cast<std::uint32_t>(value)});
    if (level[value] != Level::full || !is_loop(node)) return;
    std::vector<std::size_t>& again = again_[static_cast<std::size_t>(now)];
    if (pass[value] >= 0) {
        if (pass[value] == now || kept[value] || std::ranges::find(again, value) != again.end())
            return;
        if (is_cheap(body, node))
            again.push_back(value);
        else
            kept[value] = true;
        return;
    }
    pass[value] = now;
    for (const ValueId operand : body.operands(node)) need(body, operand, now);
}

/// Whether computing a value again costs no more than reading it back.
bool FusedPasses::is_cheap(const Graph& body, const Node& node) const {
    if (std::ranges::find(cheap_ops, node.op) == cheap_ops.end()) return false;
    int full = 0;
    for (const ValueId operand : body.operands(node)) {
        const std::size_t value = root[static_cast<std::size_t>(operand)];
        const Op op = body.producer(ValueId{static_cast<std::uint32_t>(value)}).op;
        if (level[value] == Level::full && !is_bound(op)) return false;
        full += level[value] == Level::full ? 1 : 0;
    }
    return full == 1;
}

bool FusedPasses::is_loop(const Node& node) {
    return is_elementwise(node.op) && node.op != Op::stop_gradient;
}

std::vector<const Node*> FusedPasses::nodes_of(const Graph& body, int now) const {
    std::vector<const Node*> nodes;
    for (const Node& node : body.nodes()) {
        const std::uint32_t value = node.first_result;
        const auto& again = again_[static_cast<std::size_t>(now)];
        if (root[value] == value &&
            (pass[value] == now || std::ranges::find(again, value) != again.end()))
            nodes.push_back(&node);
    }
    return nodes;
}

}  // namespace cambrian::cpu
