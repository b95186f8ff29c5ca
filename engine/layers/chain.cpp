#include "cambrian/engine/layers/chain.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/layers/width.hpp"

namespace cambrian {

namespace {

std::string prefix(std::size_t index) {
    return "layers." + std::to_string(index) + ".";
}

}  // namespace

bool adds_preceding_input(const AnyLayer& layer) {
    const auto* residual = std::get_if<Residual>(&layer.variant());
    return residual != nullptr && residual->layers.empty();
}

int nesting(const AnyLayer& layer) {
    return std::visit(
        [](const auto& concrete) {
            int deepest = 0;
            if constexpr (requires { concrete.layers; }) {
                for (const AnyLayer& inner : concrete.layers)
                    deepest = std::max(deepest, nesting(inner));
            }
            return deepest + 1;
        },
        layer.variant());
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

std::vector<ParameterSpec> chain_parameters(const std::vector<AnyLayer>& layers) {
    std::vector<ParameterSpec> all;
    for (std::size_t i = 0; i < layers.size(); ++i) {
        for (ParameterSpec& parameter : layers[i].parameters()) {
            parameter.name = prefix(i) + parameter.name;
            all.push_back(std::move(parameter));
        }
    }
    return all;
}

bool chain_stateful(const std::vector<AnyLayer>& layers) {
    return std::ranges::any_of(layers, [](const AnyLayer& layer) { return layer.stateful(); });
}

std::vector<StateSpec> chain_state(const std::vector<AnyLayer>& layers) {
    std::vector<StateSpec> all;
    for (std::size_t i = 0; i < layers.size(); ++i) {
        for (StateSpec& state : layers[i].state()) {
            state.name = prefix(i) + state.name;
            all.push_back(std::move(state));
        }
    }
    return all;
}

StepResult chain_step(const std::vector<AnyLayer>& layers, Var x, std::span<const Var> state,
                      const LayerOperands& operands) {
    LayerOperands rest = operands;
    const auto take = [](std::span<const Var>& from, std::size_t count) {
        CAMBRIAN_ASSERT(count <= from.size());
        const std::span<const Var> taken = from.first(count);
        from = from.subspan(count);
        return taken;
    };
    StepResult result{.output = x, .state = {}};
    Var preceding = x;
    for (const AnyLayer& layer : layers) {
        const Var input = result.output;
        if (adds_preceding_input(layer)) {
            result.output = input + shaped(preceding, input.shape());
        } else {
            const LayerOperands own{
                .parameters = take(rest.parameters, layer.parameters().size()),
                .activations = take(rest.activations, layer.activations().size())};
            StepResult step = layer.step(input, take(state, layer.state().size()), own);
            result.output = step.output;
            result.state.insert(result.state.end(), step.state.begin(), step.state.end());
        }
        preceding = input;
    }
    return result;
}

}  // namespace cambrian
