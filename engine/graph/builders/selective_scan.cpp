#include "cambrian/engine/graph/builders/selective_scan.hpp"

#include <array>

namespace cambrian {

SelectiveScan selective_scan(const SelectiveScanOperands& o, Discretization discretization,
                             Where where) {
    const std::array operands{o.u, o.raw_delta, o.log_decay, o.b, o.c, o.skip, o.state};
    Graph& graph = *o.u.graph;
    const Var y =
        graph.add(Op::selective_scan, operands, SelectiveScanAttribute{discretization}, where);
    return {y, {&graph, ValueId{static_cast<std::uint32_t>(y.id) + 1}}};
}

}  // namespace cambrian
