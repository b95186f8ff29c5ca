#include "cambrian/engine/graph/marks.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"

namespace cambrian {
namespace {

std::vector<bool> operand_marks(const Graph& graph, const Node& node,
                                const std::vector<bool>& values) {
    std::vector<bool> marks;
    for (const ValueId id : graph.operands(node))
        marks.push_back(values[static_cast<std::size_t>(id)]);
    return marks;
}

/// Individuals that are done wait for others of their block, so what they share must wait too.
void require_shared_carries_stay(const ScanAttribute& scan, const std::vector<bool>& body_inputs) {
    if (scan.alive_carry < 0 || !body_inputs[static_cast<std::size_t>(scan.alive_carry)]) return;
    for (std::size_t i = 0; i < static_cast<std::size_t>(scan.carries); ++i)
        if (!body_inputs[i] && scan.body->outputs()[i] != scan.body->inputs()[i])
            throw ShapeError(
                "carry " + std::to_string(i) +
                " of a scan cannot be shared (it changes, and individuals end at "
                "different steps) select its old value where the alive carry is false");
}

}  // namespace

std::vector<bool> spread_marks(const Graph& graph, const std::vector<bool>& inputs) {
    CAMBRIAN_ASSERT(inputs.size() == graph.inputs().size());
    std::vector<bool> values(graph.value_count(), false);
    for (std::size_t i = 0; i < inputs.size(); ++i)
        values[static_cast<std::size_t>(graph.inputs()[i])] = inputs[i];
    for (const Node& node : graph.nodes()) {
        if (node.op == Op::scan) {
            const auto& scan = std::get<ScanAttribute>(node.attributes);
            const auto marks =
                scan_result_marks(scan, scan_body_marks(scan, operand_marks(graph, node, values)));
            std::copy(marks.begin(), marks.end(), values.begin() + node.first_result);
        } else if (row(node.op).batch == BatchRule::each) {
            const auto marked = [&](ValueId id) {
                return bool{values[static_cast<std::size_t>(id)]};
            };
            std::fill_n(values.begin() + node.first_result, node.result_count,
                        std::ranges::any_of(graph.operands(node), marked));
        }
    }
    return values;
}

std::vector<bool> scan_body_marks(const ScanAttribute& scan, std::vector<bool> operands) {
    for (bool changed = true; changed;) {
        changed = false;
        const std::vector<bool> values = spread_marks(*scan.body, operands);
        for (std::size_t i = 0; i < static_cast<std::size_t>(scan.carries); ++i) {
            if (operands[i] || !values[static_cast<std::size_t>(scan.body->outputs()[i])]) continue;
            operands[i] = true;
            changed = true;
        }
    }
    return operands;
}

std::vector<bool> scan_result_marks(const ScanAttribute& scan,
                                    const std::vector<bool>& body_inputs) {
    const std::vector<bool> values = spread_marks(*scan.body, body_inputs);
    std::vector<bool> results;
    for (std::size_t i = 0; i < scan.body->outputs().size(); ++i) {
        const bool carry = i < static_cast<std::size_t>(scan.carries);
        results.push_back(carry ? body_inputs[i]
                                : values[static_cast<std::size_t>(scan.body->outputs()[i])]);
    }
    return results;
}

void mark_scan_body(ScanAttribute& scan, const std::vector<bool>& body_inputs) {
    require_shared_carries_stay(scan, body_inputs);
    const auto same = [&](std::size_t i) {
        return scan.body->value(scan.body->inputs()[i]).per_individual == body_inputs[i];
    };
    std::size_t agreeing = 0;
    while (agreeing < body_inputs.size() && same(agreeing)) ++agreeing;
    if (agreeing == body_inputs.size()) return;
    Graph body = *scan.body;
    body.mark_inputs(body_inputs);
    scan.body = std::make_shared<const Graph>(std::move(body));
}

}  // namespace cambrian
