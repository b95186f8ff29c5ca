#include "cambrian/engine/graph/builders/scan.hpp"

#include <array>
#include <utility>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian {

ScanResult scan(Graph body, std::span<const Var> carries, std::span<const Var> sequences,
                std::span<const Var> invariants, const ScanOptions& options, Where where) {
    std::vector<Var> operands(carries.begin(), carries.end());
    operands.insert(operands.end(), sequences.begin(), sequences.end());
    operands.insert(operands.end(), invariants.begin(), invariants.end());
    CAMBRIAN_ASSERT(!operands.empty());

    ScanAttribute attribute;
    attribute.length = options.length;
    attribute.carries = static_cast<int>(carries.size());
    attribute.sequences = static_cast<int>(sequences.size());
    attribute.reverse = options.reverse;
    attribute.alive_carry = options.alive_carry;
    attribute.truncate = options.gradient.truncate;
    attribute.checkpoint_every = options.gradient.checkpoint_every;
    const std::size_t results = body.outputs().size();
    attribute.body = std::make_shared<const Graph>(std::move(body));

    Graph& graph = *operands[0].graph;
    const Var first = graph.add(Op::scan, operands, std::move(attribute), where);
    ScanResult result;
    for (std::size_t i = 0; i < results; ++i) {
        const Var value{
            &graph, ValueId{static_cast<std::uint32_t>(first.id) + static_cast<std::uint32_t>(i)}};
        (i < carries.size() ? result.carries : result.stacked).push_back(value);
    }
    return result;
}

SelectiveScan selective_scan(const SelectiveScanOperands& o, Discretization discretization,
                             Where where) {
    const std::array operands{o.u, o.raw_delta, o.log_decay, o.b, o.c, o.skip, o.state};
    Graph& graph = *o.u.graph;
    const Var y =
        graph.add(Op::selective_scan, operands, SelectiveScanAttribute{discretization}, where);
    return {y, {&graph, ValueId{static_cast<std::uint32_t>(y.id) + 1}}};
}

}  // namespace cambrian
