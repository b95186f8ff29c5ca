#include "cambrian/engine/graph/batch_axes.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"

namespace cambrian {
namespace {

std::vector<bool> operand_batch_axes(const Graph& graph, const Node& node,
                                     const std::vector<bool>& values) {
    std::vector<bool> batch_axes;
    for (const ValueId id : graph.operands(node))
        batch_axes.push_back(values[static_cast<std::size_t>(id)]);
    return batch_axes;
}

std::vector<bool> carries_that_stay(const ScanAttribute& scan);

/// The value that this one is a copy of by construction, or the value itself.
ValueId origin_of(const Graph& graph, const Node& node, std::uint32_t result,
                  const std::vector<ValueId>& origins) {
    const ValueId self{node.first_result + result};
    const std::span<const ValueId> operands = graph.operands(node);
    const auto origin = [&](std::size_t operand) {
        return origins[static_cast<std::size_t>(operands[operand])];
    };
    if (node.op == Op::stop_gradient) return origin(0);
    if (node.op == Op::select && origin(1) == origin(2) &&
        graph.value(origin(1)).shape == graph.value(self).shape)
        return origin(1);
    return self;
}

/// Of every value.
std::vector<ValueId> origins(const Graph& graph) {
    std::vector<ValueId> result(graph.value_count());
    for (const Node& node : graph.nodes()) {
        std::vector<bool> stays;
        if (node.op == Op::scan)
            stays = carries_that_stay(std::get<ScanAttribute>(node.attributes));
        stays.resize(node.result_count, false);
        for (std::uint32_t i = 0; i < node.result_count; ++i)
            result[node.first_result + i] =
                stays[i] ? result[static_cast<std::size_t>(graph.operands(node)[i])]
                         : origin_of(graph, node, i, result);
    }
    return result;
}

/// Which carries the body passes on as they are, be it by way of a select or of an inner scan.
std::vector<bool> carries_that_stay(const ScanAttribute& scan) {
    const Graph& body = *scan.body;
    const std::vector<ValueId> from = origins(body);
    std::vector<bool> stays;
    for (std::size_t i = 0; i < static_cast<std::size_t>(scan.carries); ++i)
        stays.push_back(from[static_cast<std::size_t>(body.outputs()[i])] == body.inputs()[i]);
    return stays;
}

/// Individuals that are done wait for others of their block, so what they share must wait too.
void require_shared_carries_stay(const ScanAttribute& scan, const std::vector<bool>& body_inputs) {
    if (scan.alive_carry < 0 || !body_inputs[static_cast<std::size_t>(scan.alive_carry)]) return;
    const std::vector<bool> stays = carries_that_stay(scan);
    for (std::size_t i = 0; i < stays.size(); ++i)
        if (!body_inputs[i] && !stays[i])
            throw ShapeError(
                "carry " + std::to_string(i) +
                " of a scan cannot be shared (it changes, and individuals end at "
                "different steps) select its old value where the alive carry is false");
}

}  // namespace

std::vector<bool> propagate_batch_axes(const Graph& graph, const std::vector<bool>& inputs) {
    CAMBRIAN_ASSERT(inputs.size() == graph.inputs().size());
    std::vector<bool> values(graph.value_count(), false);
    for (std::size_t i = 0; i < inputs.size(); ++i)
        values[static_cast<std::size_t>(graph.inputs()[i])] = inputs[i];
    for (const Node& node : graph.nodes()) {
        if (node.op == Op::scan) {
            const auto& scan = std::get<ScanAttribute>(node.attributes);
            const auto batch_axes = scan_result_batch_axes(
                scan, scan_body_batch_axes(scan, operand_batch_axes(graph, node, values)));
            std::copy(batch_axes.begin(), batch_axes.end(), values.begin() + node.first_result);
        } else if (op_info(node.op).batch == BatchRule::each) {
            const auto has_batch_axis = [&](ValueId id) {
                return bool{values[static_cast<std::size_t>(id)]};
            };
            std::fill_n(values.begin() + node.first_result, node.result_count,
                        std::ranges::any_of(graph.operands(node), has_batch_axis));
        }
    }
    return values;
}

std::vector<bool> scan_body_batch_axes(const ScanAttribute& scan, std::vector<bool> operands) {
    for (bool changed = true; changed;) {
        changed = false;
        const std::vector<bool> values = propagate_batch_axes(*scan.body, operands);
        for (std::size_t i = 0; i < static_cast<std::size_t>(scan.carries); ++i) {
            if (operands[i] || !values[static_cast<std::size_t>(scan.body->outputs()[i])]) continue;
            operands[i] = true;
            changed = true;
        }
    }
    return operands;
}

std::vector<bool> scan_result_batch_axes(const ScanAttribute& scan,
                                         const std::vector<bool>& body_inputs) {
    const std::vector<bool> values = propagate_batch_axes(*scan.body, body_inputs);
    std::vector<bool> results;
    for (std::size_t i = 0; i < scan.body->outputs().size(); ++i) {
        const bool carry = i < static_cast<std::size_t>(scan.carries);
        results.push_back(carry ? body_inputs[i]
                                : values[static_cast<std::size_t>(scan.body->outputs()[i])]);
    }
    return results;
}

void set_scan_body_batch_axes(ScanAttribute& scan, const std::vector<bool>& body_inputs) {
    require_shared_carries_stay(scan, body_inputs);
    const auto same = [&](std::size_t i) {
        return scan.body->value(scan.body->inputs()[i]).per_individual == body_inputs[i];
    };
    std::size_t agreeing = 0;
    while (agreeing < body_inputs.size() && same(agreeing)) ++agreeing;
    if (agreeing == body_inputs.size()) return;
    Graph body = *scan.body;
    body.set_batch_axes(body_inputs);
    scan.body = std::make_shared<const Graph>(std::move(body));
}

}  // namespace cambrian
