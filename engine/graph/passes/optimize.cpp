#include <algorithm>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"

namespace cambrian {
namespace {

/// Passes that make a graph smaller and know nothing of a backend.
Graph simplified(const Graph& graph, const EvaluateNode& evaluate) {
    return eliminate_dead_code(
        hoist_invariants(eliminate_common_subexpressions(fold_constants(graph, evaluate))));
}

/// What a caller binds, as both graphs declare it.
[[maybe_unused]] bool same_boundary(const Graph& a, const Graph& b) {
    const auto same = [&](std::span<const ValueId> of_a, std::span<const ValueId> of_b) {
        return std::ranges::equal(of_a, of_b,
                                  [&](ValueId x, ValueId y) { return a.value(x) == b.value(y); });
    };
    return same(a.inputs(), b.inputs()) && same(a.outputs(), b.outputs()) &&
           std::ranges::equal(a.updates(), b.updates());
}

}  // namespace

Graph optimize(const Graph& graph, const OptimizeOptions& options) {
    const auto multiplies = [&](NumberFormat format) {
        return options.multiplies_codes && options.multiplies_codes(format);
    };
    // Packed matrices first: nothing may make their numbers a value of its own.
    Graph result =
        simplified(guard_finished(fuse_packed(split_formats(graph, multiplies))), options.evaluate);
    if (needs_lowering(result, options.has_kernel))
        result = simplified(lower(result, options.has_kernel), options.evaluate);
    if (options.fuse_matmul_epilogue) result = fuse_matmul_epilogue(result);
    if (options.multiplies_codes) result = fuse_formats(result, multiplies);
    if (options.groups && may_hold_fusion_groups(result, *options.groups))
        result = fuse_elementwise(result, *options.groups);
    result = separate_updates(eliminate_dead_code(result));
    if (options.max_bytes_per_individual > 0)
        result = rematerialize(result, options.max_bytes_per_individual);
    result = schedule(result);
    verify(result);
    CAMBRIAN_ENSURE(same_boundary(graph, result));
    return result;
}

}  // namespace cambrian
