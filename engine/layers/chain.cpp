#include "cambrian/engine/layers/chain.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/layers/support/width.hpp"

namespace cambrian {

namespace {

std::string prefix(std::size_t index) {
    return "layers." + std::to_string(index) + ".";
}

/// Passes x through all layers by apply(layer, input, row of the input).
template <class Apply>
Var through(const std::vector<AnyLayer>& layers, Var x, Shape row, const Apply& apply) {
    Var value = x;
    Var preceding = x;
    for (const AnyLayer& layer : layers) {
        const Var input = value;
        value = adds_preceding_input(layer) ? input + shaped(preceding, input.shape())
                                            : apply(layer, input, row);
        row = layer.output_shape(row);
        preceding = input;
    }
    return value;
}

}  // namespace

bool adds_preceding_input(const AnyLayer& layer) {
    const auto* residual = std::get_if<Residual>(&layer.variant());
    return residual != nullptr && residual->layers.empty();
}

bool takes_ids(const AnyLayer& layer) {
    return std::visit(
        []<class L>(const L& concrete) {
            if constexpr (std::is_same_v<L, Embedding>) return true;
            if constexpr (requires { concrete.layers; })
                return !concrete.layers.empty() && takes_ids(concrete.layers.front());
            if constexpr (requires { concrete.branches; })
                return std::ranges::any_of(concrete.branches, takes_ids) ||
                       std::ranges::any_of(concrete.gate.layer, takes_ids);
            return false;
        },
        layer.variant());
}

std::optional<AnyLayer> square_layer(const Shape& row) {
    const std::int64_t width = row[0];
    switch (row.rank()) {
        case 1:
            return Dense{.in = width, .out = width};
        case 2:
            return Conv1d{.in_channels = width, .out_channels = width, .kernel = 1};
        case 3:
            return Conv2d{.in_channels = width, .out_channels = width, .kernel = 1};
        case 4:
            return Conv3d{.in_channels = width, .out_channels = width, .kernel = 1};
        default:
            return std::nullopt;
    }
}

int nesting(const AnyLayer& layer) {
    int deepest = 0;
    layer.each_inner([&](const AnyLayer& inner) { deepest = std::max(deepest, nesting(inner)); });
    return deepest + 1;
}

void check_preceding(const Shape* preceding, const Shape& input) {
    if (preceding == nullptr)
        throw ShapeError(
            "an empty residual begins the chain (it adds the input of the layer before it and "
            "there is none) give it layers or put a layer before it");
    if (preceding->elements() != input.elements())
        throw ShapeError("an empty residual does not fit (the layer before it takes " +
                         rows_of(*preceding) + ", its own input is " + rows_of(input) +
                         ") give it layers or make the widths equal");
}

Shape resolve_chain(std::string_view container, std::vector<AnyLayer>& layers, const Shape& input) {
    Shape row = input;
    std::optional<Shape> preceding;
    for (std::size_t i = 0; i < layers.size(); ++i) {
        try {
            if (adds_preceding_input(layers[i]))
                check_preceding(preceding ? &*preceding : nullptr, row);
            layers[i].resolve(row);
        } catch (const ShapeError& error) {
            throw ShapeError("layer " + std::to_string(i) + " of " + std::string(container) + ": " +
                             error.what());
        }
        preceding = std::exchange(row, layers[i].output_shape(row));
    }
    return row;
}

Shape chain_output(const std::vector<AnyLayer>& layers, const Shape& input) {
    Shape row = input;
    for (const AnyLayer& layer : layers) row = layer.output_shape(row);
    return row;
}

LayerOperands OperandSplit::operands(const AnyLayer& layer, const Shape& row) {
    const auto take = [](std::span<const Var>& from, std::size_t count) {
        CAMBRIAN_ASSERT(count <= from.size());
        const std::span<const Var> taken = from.first(count);
        from = from.subspan(count);
        return taken;
    };
    return {.parameters = take(rest_.parameters, layer.parameters().size()),
            .activations = take(rest_.activations, layer.activations().size()),
            .row = row,
            .training = rest_.training,
            .cache_rows = rest_.cache_rows,
            .activation_set = rest_.activation_set};
}

std::span<const Var> OperandSplit::state(const AnyLayer& layer) {
    const std::size_t count = layer.state().size();
    CAMBRIAN_ASSERT(count <= state_.size());
    const std::span<const Var> taken = state_.first(count);
    state_ = state_.subspan(count);
    return taken;
}

std::vector<ParameterSpec> chain_parameters(const std::vector<AnyLayer>& layers) {
    std::vector<ParameterSpec> all;
    for (std::size_t i = 0; i < layers.size(); ++i)
        append_named(all, prefix(i), layers[i].parameters());
    return all;
}

bool chain_stateful(const std::vector<AnyLayer>& layers) {
    return std::ranges::any_of(layers, [](const AnyLayer& layer) { return layer.stateful(); });
}

std::vector<StateSpec> chain_state(const std::vector<AnyLayer>& layers) {
    std::vector<StateSpec> all;
    for (std::size_t i = 0; i < layers.size(); ++i) append_named(all, prefix(i), layers[i].state());
    return all;
}

StepResult chain_step(const std::vector<AnyLayer>& layers, Var x, std::span<const Var> state,
                      const LayerOperands& operands) {
    OperandSplit rest(operands, state);
    StepResult result{.output = x, .state = {}};
    const auto apply = [&](const AnyLayer& layer, Var input, const Shape& row) {
        const LayerOperands own = rest.operands(layer, row);
        StepResult step = layer.step(input, rest.state(layer), own);
        result.state.insert(result.state.end(), step.state.begin(), step.state.end());
        return step.output;
    };
    result.output = through(layers, x, operands.row, apply);
    return result;
}

Var chain_sequence(const std::vector<AnyLayer>& layers, Var x, const LayerOperands& operands) {
    OperandSplit rest(operands, {});
    return through(layers, x, operands.row,
                   [&](const AnyLayer& layer, Var input, const Shape& row) {
                       return layer.sequence(input, rest.operands(layer, row));
                   });
}

}  // namespace cambrian
