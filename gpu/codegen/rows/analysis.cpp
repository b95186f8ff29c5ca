#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"
#include "cambrian/gpu/codegen/rows/ops.hpp"
#include "cambrian/gpu/codegen/rows/row_source.hpp"

namespace cambrian::gpu {
namespace {

/// Elements of one row of a value.
std::int64_t row_elements(const Shape& shape, bool has_rows) {
    return has_rows ? shape.elements() / std::max<std::int64_t>(shape[0], 1) : shape.elements();
}

/// Axis 0 of what enters and leaves the steps, largest extent first: where rows may be found.
std::vector<std::int64_t> candidates(const ScanAttribute& scan) {
    const Graph& body = *scan.body;
    std::vector<std::int64_t> extents;
    const auto add = [&](ValueId id) {
        const Shape& shape = body.value(id).shape;
        if (shape.rank() > 0 && shape[0] > 1) extents.push_back(shape[0]);
    };
    for (int i = 0; i < scan.carries + scan.sequences; ++i)
        add(body.inputs()[static_cast<std::size_t>(i)]);
    for (const ValueId id : body.outputs()) add(id);
    std::ranges::sort(extents, std::greater{});
    extents.erase(std::ranges::unique(extents).begin(), extents.end());
    return extents;
}

/// Turns of loops for a row of a network that is data, or operations, at most. Of neurons of any
/// kind medians take most for a word of weights (INTERPRET_MEDIAN): with 31 inputs nearly 7, and
/// one of the neurons. Inputs and state are copied twice.
std::int64_t max_network_operations(const RowSite& site, const InterpretAttribute& network) {
    const std::int64_t turns_of_word =
        network.neurons >= NeuronSet::any ? 8 : row_op(Op::interpret).cost;
    return turns_of_word * network.weights + 2 * (site.shape(2)[-1] + site.shape(3)[-1]);
}

/// Tries one extent of the row axis.
class Attempt {
  public:
    Attempt(const ScanAttribute& scan, const RowLimits& limits, std::int64_t rows)
        : scan_(scan), limits_(limits) {
        result_.rows = rows;
        result_.has_rows.assign(scan.body->value_count(), false);
    }

    RowAnalysis run() {
        const Graph& body = *scan_.body;
        if (body.nodes().size() > static_cast<std::size_t>(limits_.nodes))
            return refused(fmt::format("the body has {} nodes", body.nodes().size()));
        place_inputs();
        for (const Node& node : body.nodes())
            if (node.op != Op::input && !visit(node)) return result_;
        for (int i = 0; i < scan_.carries; ++i) check_carry(static_cast<std::size_t>(i));
        if (result_.row_words > limits_.words)
            refused(fmt::format("a row has {} words", result_.row_words));
        if (result_.operations > limits_.operations)
            refused(fmt::format("a row takes {} operations a step", result_.operations));
        return result_;
    }

  private:
    RowAnalysis& refused(std::string why) {
        if (result_.obstacle.empty()) result_.obstacle = std::move(why);
        return result_;
    }

    /// Carries and sequences with the extent on axis 0 have rows; invariants are read by row where
    /// that is asked for.
    void place_inputs() {
        const auto inputs = scan_.body->inputs();
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            const Shape& shape = scan_.body->value(inputs[i]).shape;
            const bool moves = i < static_cast<std::size_t>(scan_.carries + scan_.sequences);
            const bool rows =
                moves && result_.rows > 1 && shape.rank() > 0 && shape[0] == result_.rows;
            result_.has_rows[static_cast<std::size_t>(inputs[i])] = rows;
            if (moves) result_.row_words += row_elements(shape, rows);
        }
    }

    bool visit(const Node& node) {
        const RowSite site{scan_, *scan_.body, node, result_.has_rows, result_.rows};
        const RowSplit split = row_op(node.op).split(site);
        if (split == RowSplit::meets) {
            refused(fmt::format("{} has no row form at v{}", name(node.op), node.first_result));
            return false;
        }
        for (std::uint32_t i = 0; i < node.result_count; ++i) {
            result_.has_rows[node.first_result + i] = split == RowSplit::rows;
            if (!row_op(node.op).moves)
                result_.row_words += row_elements(site.result(i).shape, split == RowSplit::rows);
        }
        const std::int64_t operations = row_operations(site);
        result_.operations += operations;
        const auto* network = std::get_if<InterpretAttribute>(&node.attributes);
        result_.max_operations +=
            network == nullptr ? operations : max_network_operations(site, *network);
        return true;
    }

    /// A carry that all rows share cannot become one that each row has; its shape forbids it.
    void check_carry(std::size_t index) {
        const auto in = static_cast<std::size_t>(scan_.body->inputs()[index]);
        const auto out = static_cast<std::size_t>(scan_.body->outputs()[index]);
        if (result_.has_rows[out] && !result_.has_rows[in])
            refused(fmt::format("carry {} gains rows", index));
    }

    const ScanAttribute& scan_;
    const RowLimits& limits_;
    RowAnalysis result_;
};

bool has_row_form(Op op) {
    return op_info(op).lowering == nullptr || row_op(op).write != nullptr;
}

}  // namespace

std::int64_t row_operations(const RowSite& site) {
    const RowOp& op = row_op(site.node.op);
    if (op.moves) return 0;
    const bool rows = site.has_rows[site.node.first_result];
    const std::int64_t elements = row_elements(site.result().shape, rows);
    if (const auto* product = std::get_if<MatmulAttribute>(&site.node.attributes))
        return elements * op.cost * site.shape(0)[product->transpose_left ? -2 : -1];
    if (std::holds_alternative<AxisAttribute>(site.node.attributes))
        return std::max(elements, row_elements(site.shape(0), site.has(0)));
    // Each weight of a network that is data takes part once, about.
    if (const auto* network = std::get_if<InterpretAttribute>(&site.node.attributes))
        return op.cost * network->weights;
    return elements * op.cost;
}

RowAnalysis analyse_rows(const ScanAttribute& scan, const RowLimits& limits) {
    RowAnalysis last;
    for (const std::int64_t rows : candidates(scan)) {
        last = Attempt(scan, limits, rows).run();
        if (last.obstacle.empty()) return last;
    }
    RowAnalysis whole = Attempt(scan, limits, 1).run();
    // Why rows meet says more than why a whole individual is too much for one invocation.
    if (!whole.obstacle.empty() && !last.obstacle.empty()) whole.obstacle = last.obstacle;
    return whole;
}

ScanAttribute lower_row_body(const ScanAttribute& scan) {
    ScanAttribute lowered = scan;
    if (needs_lowering(*scan.body, has_row_form))
        lowered.body = std::make_shared<const Graph>(lower(*scan.body, has_row_form));
    return lowered;
}

}  // namespace cambrian::gpu
