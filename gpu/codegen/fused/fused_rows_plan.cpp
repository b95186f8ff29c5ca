#include <algorithm>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/gpu/codegen/fused/fused_source.hpp"

namespace cambrian::gpu {
namespace {

bool is_reduction(const Node& node) {
    return is_fold(node.op);
}

std::int64_t last_extent(const Shape& shape) {
    return shape.rank() == 0 ? 1 : shape[-1];
}

std::int64_t row_length(const Graph& body) {
    for (const Node& node : body.nodes())
        if (is_reduction(node)) return last_extent(body.value(body.operands(node)[0]).shape);
    return last_extent(body.value(body.outputs()[0]).shape);
}

/// What varies along a row, and after which passes each value is known.
void find_levels(const Graph& body, FusedRowsPlan& plan) {
    for (const Node& node : body.nodes()) {
        const std::uint32_t value = node.first_result;
        if (node.op == Op::input)
            plan.varies[value] =
                plan.row_length > 1 && last_extent(body.value(ValueId{value}).shape) > 1;
        for (const ValueId operand : body.operands(node)) {
            const auto from = static_cast<std::size_t>(operand);
            plan.ready[value] = std::max(plan.ready[value], plan.ready[from]);
            if (!is_reduction(node) && plan.varies[from]) plan.varies[value] = true;
        }
        if (!is_reduction(node)) continue;
        plan.reduced_in[value] = plan.ready[value]++;
    }
}

/// Marks what varies and is needed to compute a value in a pass.
void need(const Graph& body, ValueId id, int pass, FusedRowsPlan& plan, std::vector<int>& last) {
    const auto value = static_cast<std::size_t>(id);
    if (!plan.varies[value] || last[value] == pass) return;
    last[value] = pass;
    if (plan.pass[value] >= 0) {
        plan.kept[value] = true;  // It is there already, and so is what it was made of.
        return;
    }
    plan.pass[value] = pass;
    for (const ValueId operand : body.operands(body.producer(id)))
        need(body, operand, pass, plan, last);
}

int count_kept(const FusedRowsPlan& plan, const std::vector<int>& last) {
    int max_kept = 0;
    for (int pass = 0; pass + 1 < plan.passes; ++pass) {
        int now = 0;
        for (std::size_t value = 0; value < plan.pass.size(); ++value)
            now += plan.kept[value] && plan.pass[value] <= pass && last[value] > pass ? 1 : 0;
        max_kept = std::max(max_kept, now);
    }
    return max_kept;
}

}  // namespace

FusedRowsPlan plan_fused_rows(const Graph& body) {
    const std::size_t values = body.value_count();
    FusedRowsPlan plan;
    plan.row_length = row_length(body);
    plan.varies.assign(values, false);
    plan.pass.assign(values, -1);
    plan.kept.assign(values, false);
    plan.reduced_in.assign(values, -1);
    plan.ready.assign(values, 0);
    find_levels(body, plan);
    const ValueId result = body.outputs()[0];
    plan.passes = plan.ready[static_cast<std::size_t>(result)] + 1;
    std::vector<int> last(values, -1);
    for (int pass = 0; pass < plan.passes; ++pass) {
        for (const Node& node : body.nodes())
            if (plan.reduced_in[node.first_result] == pass)
                need(body, body.operands(node)[0], pass, plan, last);
        if (pass + 1 == plan.passes) need(body, result, pass, plan, last);
    }
    plan.max_kept = count_kept(plan, last);
    return plan;
}

}  // namespace cambrian::gpu
