#include "cambrian/engine/layers/parallel.hpp"

#include <algorithm>
#include <array>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/layers/any_layer.hpp"
#include "cambrian/engine/layers/chain.hpp"
#include "cambrian/engine/layers/support/width.hpp"

namespace cambrian {

namespace {

Shape concatenated(std::span<const Shape> rows) {
    std::int64_t first = 0;
    for (const Shape& row : rows) {
        if (row.rank() != rows[0].rank() ||
            !std::ranges::equal(row.extents().subspan(1), rows[0].extents().subspan(1)))
            throw ShapeError("parallel cannot join its branches (one gives " + rows_of(rows[0]) +
                             ", another " + rows_of(row) +
                             ") make all but their first axes equal, or use \"grid_scatter\"");
        first += row[0];
    }
    return with_leading(std::array{first}, Shape(rows[0].extents().subspan(1)));
}

Shape scattered(std::span<const Shape> rows) {
    std::int64_t elements = 0;
    for (const Shape& row : rows) elements += row.elements();
    return {elements};
}

Shape equal_rows(std::span<const Shape> rows) {
    for (const Shape& row : rows)
        if (row != rows[0])
            throw ShapeError("parallel cannot add its branches (one gives " + rows_of(rows[0]) +
                             ", another " + rows_of(row) + ") make their outputs equal");
    return rows[0];
}

/// What the branches gave.
struct Outputs {
    std::span<const Var> values;
    std::span<const Shape> rows;
    Var weights;  ///< Of filter: [.., branches].
};

Var join_first_axes(const Outputs& outputs) {
    return concat(outputs.values, outputs.values[0].rank() - outputs.rows[0].rank());
}

Var join_elements(const Outputs& outputs) {
    std::vector<Var> vectors;
    for (std::size_t i = 0; i < outputs.values.size(); ++i)
        vectors.push_back(
            shape_rows(outputs.values[i], outputs.rows[i].rank(), flat(outputs.rows[i])));
    return concat(vectors, -1);
}

Var add_up(const Outputs& outputs) {
    Var sum = outputs.values[0];
    for (const Var value : outputs.values.subspan(1)) sum = sum + value;
    return sum;
}

Var average_up(const Outputs& outputs) {
    return add_up(outputs) * (1.0 / static_cast<double>(outputs.values.size()));
}

Var add_weighted(const Outputs& outputs) {
    const std::vector<std::int64_t> ones(static_cast<std::size_t>(outputs.rows[0].rank()), 1);
    std::vector<Var> weighted;
    for (std::size_t i = 0; i < outputs.values.size(); ++i) {
        const Var weight = shape_rows(slice(outputs.weights, -1, static_cast<std::int64_t>(i), 1),
                                      1, Shape(std::span<const std::int64_t>(ones)));
        // A branch that is not chosen is left out whatever it gives: 0 times infinity is no number.
        const Var none = constant(*weight.graph, 0.0);
        weighted.push_back(select(less(none, weight), outputs.values[i], none) * weight);
    }
    return add_up({weighted, outputs.rows, {}});
}

/// One row of the table of ways to combine.
struct Combination {
    std::string_view name;
    bool equal = false;  ///< Whether branches give what the layer gives.
    bool gated = false;
    Shape (*row)(std::span<const Shape> rows) = nullptr;
    Var (*join)(const Outputs& outputs) = nullptr;
};
constexpr std::array combinations{
    Combination{"concat", false, false, concatenated, join_first_axes},
    Combination{"add", true, false, equal_rows, add_up},
    Combination{"average", true, false, equal_rows, average_up},
    Combination{"filter", true, true, equal_rows, add_weighted},
    Combination{"grid_scatter", false, false, scattered, join_elements},
};

const Combination* combination(std::string_view name) {
    const auto* const found = std::ranges::find(combinations, name, &Combination::name);
    return found == combinations.end() ? nullptr : found;
}

}  // namespace

Parallel Parallel::example() {
    Parallel result{.branches = {}, .combine = "filter", .gate = {}, .top_k = 2};
    result.branches.emplace_back(Dense{.in = 3, .out = 2, .activation = Activation::tanh});
    result.branches.emplace_back(Dense{.in = 3, .out = 2, .bias = false});
    result.branches.emplace_back(Dense{.in = 3, .out = 2, .activation = Activation::silu});
    result.gate.layer.emplace_back(Dense{.in = 3, .out = 3});
    return result;
}

std::optional<Parallel> Parallel::fitted(const Shape& in, const Shape& out) {
    const std::optional<Dense> branch = Dense::fitted(in, out);
    if (!branch) return std::nullopt;
    Parallel result{.branches = {}, .combine = "average", .gate = {}};
    result.branches.emplace_back(*branch);
    result.branches.emplace_back(*branch);
    return result;
}

std::string_view Parallel::fault() const {
    const Combination* const how = combination(combine);
    if (how == nullptr)
        return "combine is \"concat\", \"add\", \"average\", \"filter\" or \"grid_scatter\"";
    if (gate.size() > 1) return "gate is one layer";
    if (gate.empty() == how->gated) return "a gate belongs to \"filter\", which needs one";
    if (top_k != 0 && !how->gated) return "top_k belongs to \"filter\"";
    if (top_k < 0 || top_k > static_cast<std::int64_t>(branches.size()))
        return "top_k is 0 (all) to the number of branches";
    return {};
}

void Parallel::resolve(const Shape& input) {
    require_no_fault(name, fault());
    if (branches.empty())
        throw ShapeError(
            "parallel has no branches (nothing tells what it computes) add \"branches\"");
    for (std::size_t i = 0; i < branches.size(); ++i) {
        try {
            branches[i].resolve(input);
        } catch (const ShapeError& error) {
            throw ShapeError("branch " + std::to_string(i) + " of parallel: " + error.what());
        }
    }
    static_cast<void>(output_shape(input));
    if (gate.empty()) return;
    const auto count = static_cast<std::int64_t>(branches.size());
    AnyLayer& layer = gate.layer.front();
    layer.infer_output(count);
    layer.resolve(input);
    const Shape weights = layer.output_shape(input);
    if (weights.elements() != count)
        throw ShapeError("the gate of parallel does not fit (it gives " + rows_of(weights) +
                         " for " + std::to_string(count) +
                         " branches) make it give one number for each");
}

void Parallel::infer_output(std::int64_t width) {
    const Combination* const how = combination(combine);
    if (how == nullptr || !how->equal) return;
    for (AnyLayer& branch : branches) branch.infer_output(width);
}

Shape Parallel::output_shape(const Shape& input) const {
    std::vector<Shape> rows;
    for (const AnyLayer& branch : branches) rows.push_back(branch.output_shape(input));
    return combination(combine)->row(rows);
}

std::vector<const AnyLayer*> Parallel::all() const {
    std::vector<const AnyLayer*> layers;
    for (const AnyLayer& branch : branches) layers.push_back(&branch);
    for (const AnyLayer& layer : gate) layers.push_back(&layer);
    return layers;
}

std::vector<ParameterSpec> Parallel::parameters() const {
    std::vector<ParameterSpec> result;
    for (std::size_t i = 0; i < branches.size(); ++i)
        append_named(result, "branches." + std::to_string(i) + ".", branches[i].parameters());
    for (const AnyLayer& layer : gate) append_named(result, "gate.", layer.parameters());
    return result;
}

bool Parallel::stateful() const {
    return std::ranges::any_of(all(), [](const AnyLayer* layer) { return layer->stateful(); });
}

std::vector<StateSpec> Parallel::state() const {
    std::vector<StateSpec> result;
    for (std::size_t i = 0; i < branches.size(); ++i)
        append_named(result, "branches." + std::to_string(i) + ".", branches[i].state());
    for (const AnyLayer& layer : gate) append_named(result, "gate.", layer.state());
    return result;
}

Var Parallel::build(Var x, const LayerOperands& operands) const {
    return step(x, {}, operands).output;
}

StepResult Parallel::step(Var x, std::span<const Var> state, const LayerOperands& operands) const {
    OperandSplit rest(operands, state);
    std::vector<Var> outputs;
    std::vector<Var> next;
    for (const AnyLayer* layer : all()) {
        const LayerOperands own = rest.operands(*layer, operands.row);
        const StepResult result = layer->step(x, rest.state(*layer), own);
        outputs.push_back(result.output);
        next.insert(next.end(), result.state.begin(), result.state.end());
    }
    return {.output = combined(outputs, operands.row), .state = std::move(next)};
}

Var Parallel::sequence(Var x, const LayerOperands& operands) const {
    OperandSplit rest(operands, {});
    std::vector<Var> outputs;
    for (const AnyLayer* layer : all())
        outputs.push_back(layer->sequence(x, rest.operands(*layer, operands.row)));
    return combined(outputs, operands.row);
}

/// softmax of the largest logits; zeros for the others.
Var Parallel::gate_weights(Var logits) const {
    if (top_k == 0) return softmax(logits);
    const Var chosen = one_hot(topk(logits, top_k).indices, logits.shape()[-1]);
    return masked_softmax(logits, less(0.5, reduce_sum(chosen, -2)));
}

Var Parallel::combined(std::span<const Var> outputs, const Shape& input) const {
    std::vector<Shape> rows;
    for (const AnyLayer& branch : branches) rows.push_back(branch.output_shape(input));
    Var weights;
    if (!gate.empty()) {
        const Shape given = gate.layer.front().output_shape(input);
        weights = gate_weights(shape_rows(outputs.back(), given.rank(), flat(given)));
    }
    return combination(combine)->join({outputs.first(branches.size()), rows, weights});
}

bool Parallel::operator==(const Parallel& other) const {
    return branches == other.branches && combine == other.combine &&
           gate.layer == other.gate.layer && top_k == other.top_k;
}

std::size_t OptionalLayer::size() const {
    return layer.size();
}

bool OptionalLayer::empty() const {
    return layer.empty();
}

std::vector<AnyLayer>::const_iterator OptionalLayer::begin() const {
    return layer.begin();
}

std::vector<AnyLayer>::const_iterator OptionalLayer::end() const {
    return layer.end();
}

std::vector<AnyLayer>::iterator OptionalLayer::begin() {
    return layer.begin();
}

std::vector<AnyLayer>::iterator OptionalLayer::end() {
    return layer.end();
}

}  // namespace cambrian
