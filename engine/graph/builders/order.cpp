#include "cambrian/engine/graph/builders/order.hpp"

namespace cambrian {
namespace {

Ordered results_of(Var first) {
    return {first, {first.graph, ValueId{static_cast<std::uint32_t>(first.id) + 1}}};
}

}  // namespace

Var cumsum(Var x, int axis, bool exclusive, bool reverse, Where where) {
    const CumsumAttribute attribute{from_start(axis, x.rank()), exclusive, reverse};
    return x.graph->add(Op::cumsum, std::span(&x, 1), attribute, where);
}

Ordered sort(Var x, int axis, bool descending, Where where) {
    const SortAttribute attribute{from_start(axis, x.rank()), descending};
    return results_of(x.graph->add(Op::sort, std::span(&x, 1), attribute, where));
}

Var argsort(Var x, int axis, bool descending, Where where) {
    return sort(x, axis, descending, where).indices;
}

Ordered topk(Var x, std::int64_t count, int axis, Where where) {
    const TopkAttribute attribute{from_start(axis, x.rank()), count};
    return results_of(x.graph->add(Op::topk, std::span(&x, 1), attribute, where));
}

}  // namespace cambrian
