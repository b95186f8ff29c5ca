#include "cambrian/engine/graph/passes/fusion_group.hpp"

#include <algorithm>
#include <set>

#include "cambrian/engine/graph/graph_errors.hpp"
#include "cambrian/engine/graph/plan/liveness.hpp"

namespace cambrian {
namespace {

/// Extents without leading ones: equal for shapes whose elements lie alike under broadcasting.
std::vector<std::int64_t> significant(const Shape& shape) {
    const auto extents = shape.extents();
    const auto first =
        std::ranges::find_if(extents, [](std::int64_t extent) { return extent != 1; });
    return {first, extents.end()};
}

bool alike(const Shape& a, const Shape& b) {
    return significant(a) == significant(b);
}

Shape one_per_row(const Shape& shape) {
    std::vector<std::int64_t> extents(shape.extents().begin(), shape.extents().end());
    extents.back() = 1;
    return Shape(std::span<const std::int64_t>(extents));
}

}  // namespace

/// A region while it grows.
struct FusionGroupFinder::Growth {
    Growth(std::size_t root_node, const ValueInfo& root_info, bool with_reductions)
        : root(root_node), info(root_info), reductions(with_reductions) {}

    std::size_t root;
    ValueInfo info;            ///< Of the root.
    bool reductions;           ///< Whether reductions along rows may join.
    std::optional<Shape> row;  ///< With one element for each row.
    std::optional<Shape> full;
    std::set<std::size_t> members;
    std::set<ValueId> operands;
    std::size_t work = 0;  ///< Members that would each be a kernel.
    bool reduces = false;
};

FusionGroupFinder::FusionGroupFinder(const Graph& graph, const FusionRules& rules)
    : graph_(graph),
      rules_(rules),
      users_(graph.value_count()),
      is_output_(graph.value_count(), false),
      claimed_(graph.nodes().size(), false) {
    for (std::size_t i = 0; i < graph.nodes().size(); ++i)
        for (const ValueId id : graph.operands(graph.nodes()[i]))
            users_[static_cast<std::size_t>(id)].push_back(i);
    for (const ValueId id : graph.outputs()) is_output_[static_cast<std::size_t>(id)] = true;
}

std::size_t FusionGroupFinder::node_of(ValueId id) const {
    return static_cast<std::size_t>(&graph_.producer(id) - graph_.nodes().data());
}

const ValueInfo& FusionGroupFinder::result(std::size_t node) const {
    return graph_.value(ValueId{graph_.nodes()[node].first_result});
}

bool FusionGroupFinder::is_literal(ValueId id) const {
    return graph_.producer(id).op == Op::constant && graph_.value(id).shape.rank() == 0;
}

/// A reduction along the last axis that a fusion group can hold: short enough for one workgroup.
bool FusionGroupFinder::is_row_reduction(std::size_t index) const {
    const Node& node = graph_.nodes()[index];
    if (!is_fold(node.op)) return false;
    const Shape& shape = graph_.value(graph_.operands(node)[0]).shape;
    return std::get<AxisAttribute>(node.attributes).axis == shape.rank() - 1 && shape[-1] > 0 &&
           shape[-1] <= rules_.longest_row;
}

/// Elementwise, or a change of shape that is none for the elements.
bool FusionGroupFinder::is_elementwise(std::size_t index) const {
    const Node& node = graph_.nodes()[index];
    if (cambrian::is_elementwise(node.op)) return !may_divide_by_zero(graph_, node);
    if (node.op == Op::broadcast) return true;
    return node.op == Op::reshape &&
           alike(graph_.value(graph_.operands(node)[0]).shape, result(index).shape);
}

/// Whether a node alone would be a kernel: not when its result is its operand's memory.
bool FusionGroupFinder::is_work(std::size_t index) const {
    return !alias_of(graph_, graph_.nodes()[index]);
}

bool FusionGroupFinder::has_other_users(std::size_t node, const Growth& growth) const {
    const std::uint32_t value = graph_.nodes()[node].first_result;
    return is_output_[value] || !std::ranges::all_of(users_[value], [&](std::size_t user) {
               return growth.members.contains(user);
           });
}

/// Whether a node can be part of a region in which rows are reduced. Fixes the region's rows with
/// its first reduction.
bool FusionGroupFinder::fits_rows(std::size_t node, Growth& growth) const {
    if (!growth.row) return false;
    const Shape& shape = result(node).shape;
    if (!is_row_reduction(node))
        return alike(shape, *growth.row) || (growth.full && alike(shape, *growth.full)) ||
               shape.elements() == 1;
    const Shape& operand = graph_.value(graph_.operands(graph_.nodes()[node])[0]).shape;
    const bool keeps = std::get<AxisAttribute>(graph_.nodes()[node].attributes).keep;
    if ((!keeps && node != growth.root) || !alike(one_per_row(operand), *growth.row)) return false;
    if (growth.full && !alike(operand, *growth.full)) return false;
    growth.full = operand;
    return true;
}

bool FusionGroupFinder::fits(std::size_t node, Growth& growth) const {
    const ValueInfo& info = result(node);
    const bool elementwise = is_elementwise(node);
    if (!elementwise && !(growth.reductions && is_row_reduction(node))) return false;
    // A shared value inside a fusion group of every individual would be computed for each again.
    const bool number = elementwise && info.shape.elements() == 1;
    if (info.per_individual != growth.info.per_individual && !number) return false;
    if (growth.reductions) return fits_rows(node, growth);
    return number || alike(info.shape, growth.info.shape);
}

bool FusionGroupFinder::take(std::size_t node, Growth& growth) const {
    std::set<ValueId> operands = growth.operands;
    operands.erase(ValueId{graph_.nodes()[node].first_result});
    for (const ValueId id : graph_.operands(graph_.nodes()[node]))
        if (!is_literal(id)) operands.insert(id);
    const std::size_t work = growth.work + (is_work(node) ? 1 : 0);
    if (operands.size() > rules_.max_operands || work > rules_.max_nodes) return false;
    if (!fits(node, growth)) return false;
    growth.operands = std::move(operands);
    growth.work = work;
    growth.reduces = growth.reduces || is_row_reduction(node);
    growth.members.insert(node);
    return true;
}

bool FusionGroupFinder::is_large(const Growth& growth) const {
    const Shape& largest = growth.full ? *growth.full : growth.info.shape;
    return largest.elements() >= rules_.min_elements;
}

std::optional<FusionGroup> FusionGroupFinder::grow(std::size_t root, bool reductions) const {
    Growth growth(root, result(root), reductions);
    if (reductions && is_row_reduction(root)) {
        growth.row = one_per_row(graph_.value(graph_.operands(graph_.nodes()[root])[0]).shape);
    } else if (reductions && growth.info.shape.rank() > 0) {
        growth.row = one_per_row(growth.info.shape);
        if (growth.info.shape[-1] != 1) growth.full = growth.info.shape;
    }
    if (!take(root, growth)) return std::nullopt;
    // Operands from the last node to the first: all users of a node are decided before it.
    std::set<std::size_t> candidates;
    const auto add_operands = [&](std::size_t node) {
        for (const ValueId id : graph_.operands(graph_.nodes()[node]))
            if (!is_literal(id)) candidates.insert(node_of(id));
    };
    add_operands(root);
    while (!candidates.empty()) {
        const std::size_t node = *candidates.rbegin();
        candidates.erase(node);
        if (claimed_[node] || has_other_users(node, growth) || !take(node, growth)) continue;
        add_operands(node);
    }
    if (growth.work < 2 || growth.reduces != reductions || !is_large(growth)) return std::nullopt;
    return FusionGroup{{growth.members.begin(), growth.members.end()}, operands_of(growth)};
}

/// In the order of their first use, so that regions that compute the same have equal bodies.
std::vector<ValueId> FusionGroupFinder::operands_of(const Growth& growth) const {
    std::vector<ValueId> operands;
    for (const std::size_t node : growth.members)
        for (const ValueId id : graph_.operands(graph_.nodes()[node]))
            if (growth.operands.contains(id) && std::ranges::find(operands, id) == operands.end())
                operands.push_back(id);
    return operands;
}

std::optional<FusionGroup> FusionGroupFinder::find(std::size_t root) const {
    if (claimed_[root]) return std::nullopt;
    if (rules_.reductions)
        if (std::optional<FusionGroup> region = grow(root, true)) return region;
    return grow(root, false);
}

void FusionGroupFinder::claim(const FusionGroup& region) {
    for (const std::size_t node : region.nodes) claimed_[node] = true;
}

std::vector<ValueUsers> users_of_values(const Graph& graph) {
    std::vector<ValueUsers> users(graph.value_count());
    for (const Node& node : graph.nodes())
        for (const ValueId id : graph.operands(node)) {
            ValueUsers& of = users[static_cast<std::size_t>(id)];
            ++of.count;
            of.last = &node;
        }
    for (const ValueId id : graph.outputs()) ++users[static_cast<std::size_t>(id)].count;
    return users;
}

}  // namespace cambrian
