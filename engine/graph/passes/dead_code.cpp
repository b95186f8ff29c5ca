#include <algorithm>

#include "cambrian/engine/graph/graph_copy.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"

namespace cambrian {
namespace {

/// Which operands and results of a scan are needed.
struct ScanUse {
    std::vector<bool> operands;
    std::vector<bool> results;
};

ScanUse scan_use(const ScanAttribute& scan, std::vector<bool> results);

/// Which values of a graph are needed for some of its values.
std::vector<bool> live_values(const Graph& graph, std::span<const ValueId> wanted) {
    std::vector<bool> live(graph.value_count(), false);
    for (const ValueId id : wanted) live[static_cast<std::size_t>(id)] = true;
    for (std::size_t i = graph.nodes().size(); i-- > 0;) {
        const Node& node = graph.nodes()[i];
        const auto first = live.begin() + node.first_result;
        if (std::find(first, first + node.result_count, true) == first + node.result_count)
            continue;
        const auto operands = graph.operands(node);
        std::vector<bool> needed(operands.size(), true);
        if (node.op == Op::scan)
            needed = scan_use(std::get<ScanAttribute>(node.attributes),
                              {first, first + node.result_count})
                         .operands;
        for (std::size_t k = 0; k < operands.size(); ++k)
            if (needed[k]) live[static_cast<std::size_t>(operands[k])] = true;
    }
    return live;
}

std::vector<ValueId> kept(std::span<const ValueId> ids, const std::vector<bool>& keep) {
    std::vector<ValueId> result;
    for (std::size_t i = 0; i < ids.size(); ++i)
        if (keep[i]) result.push_back(ids[i]);
    return result;
}

/// A carry is needed when its result is or when the body needs it for anything else that is.
ScanUse scan_use(const ScanAttribute& scan, std::vector<bool> results) {
    const Graph& body = *scan.body;
    if (scan.alive_carry >= 0) results[static_cast<std::size_t>(scan.alive_carry)] = true;
    ScanUse use;
    for (bool changed = true; changed;) {
        changed = false;
        const std::vector<bool> live = live_values(body, kept(body.outputs(), results));
        use.operands.clear();
        for (const ValueId id : body.inputs())
            use.operands.push_back(live[static_cast<std::size_t>(id)]);
        for (std::size_t i = 0; i < static_cast<std::size_t>(scan.carries); ++i) {
            if (use.operands[i] && !results[i]) results[i] = changed = true;
            use.operands[i] = results[i];
        }
    }
    use.results = std::move(results);
    return use;
}

Graph rebuild(const Graph& graph, std::span<const ValueId> outputs,
              const std::vector<bool>& keep_inputs);

/// Appends a scan without the carries, sequences, invariants and results that nothing needs.
void copy_scan(const Graph& graph, const Node& node, const std::vector<bool>& live, Graph& target,
               GraphCopy& copy) {
    const auto& scan = std::get<ScanAttribute>(node.attributes);
    const auto first = live.begin() + node.first_result;
    const ScanUse use = scan_use(scan, {first, first + node.result_count});
    const auto count = [&](int begin, int end) {
        return static_cast<int>(
            std::count(use.operands.begin() + begin, use.operands.begin() + end, true));
    };
    ScanAttribute smaller = scan;
    smaller.carries = count(0, scan.carries);
    smaller.sequences = count(scan.carries, scan.carries + scan.sequences);
    if (scan.alive_carry >= 0) smaller.alive_carry = count(0, scan.alive_carry);
    smaller.body = std::make_shared<const Graph>(
        rebuild(*scan.body, kept(scan.body->outputs(), use.results), use.operands));

    std::vector<Var> operands;
    for (const ValueId id : kept(graph.operands(node), use.operands))
        operands.push_back(copy.mapped(id));
    const Var result = target.add(Op::scan, operands, std::move(smaller), node.where);
    auto next = static_cast<std::uint32_t>(result.id);
    for (std::uint32_t i = 0; i < node.result_count; ++i)
        if (use.results[i]) copy.map(ValueId{node.first_result + i}, {&target, ValueId{next++}});
}

Graph rebuild(const Graph& graph, std::span<const ValueId> outputs,
              const std::vector<bool>& keep_inputs) {
    const std::vector<bool> live = live_values(graph, outputs);
    Graph result;
    GraphCopy copy(graph, result);
    std::size_t next_input = 0;
    for (const Node& node : graph.nodes()) {
        const auto first = live.begin() + node.first_result;
        const bool needed =
            std::find(first, first + node.result_count, true) != first + node.result_count;
        if (node.op == Op::input) {
            if (keep_inputs[next_input++]) copy.copy(node);
        } else if (needed && node.op == Op::scan) {
            copy_scan(graph, node, live, result, copy);
        } else if (needed) {
            copy.copy(node);
        }
    }
    if (outputs.data() == graph.outputs().data())
        copy.outputs();
    else
        copy.output(outputs);
    return result;
}

}  // namespace

Graph eliminate_dead_code(const Graph& graph) {
    return rebuild(graph, graph.outputs(), std::vector<bool>(graph.inputs().size(), true));
}

}  // namespace cambrian
