#include "cambrian/engine/layers/sequential.hpp"

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/layers/chain.hpp"

namespace cambrian {

Sequential Sequential::example() {
    Sequential result;
    result.layers.emplace_back(Dense{.in = 3, .out = 3, .activation = Activation::silu});
    result.layers.emplace_back(Residual{.layers = {}, .features = 3});
    result.layers.emplace_back(Dense{.in = 3, .out = 4, .bias = false});
    return result;
}

std::optional<Sequential> Sequential::fitted(const Shape& in, const Shape& out) {
    std::optional<Dense> first = Dense::fitted(in, out);
    std::optional<Dense> second = Dense::fitted(out, out);
    if (!first || !second) return std::nullopt;
    first->activation = Activation::tanh;
    Sequential result;
    result.layers.emplace_back(*first);
    result.layers.emplace_back(*second);
    return result;
}

void Sequential::resolve(const Shape& input) {
    if (layers.empty())
        throw ShapeError(
            "sequential has no layers (nothing tells what it computes) add \"layers\"");
    resolve_chain(name, layers, input);
}

void Sequential::infer_output(std::int64_t width) {
    if (!layers.empty()) layers.back().infer_output(width);
}

Shape Sequential::output_shape(const Shape& input) const {
    return chain_output(layers, input);
}

std::vector<ParameterSpec> Sequential::parameters() const {
    return chain_parameters(layers);
}

bool Sequential::stateful() const {
    return chain_stateful(layers);
}

std::vector<StateSpec> Sequential::state() const {
    return chain_state(layers);
}

Var Sequential::build(Var x, const LayerOperands& operands) const {
    return chain_step(layers, x, {}, operands).output;
}

StepResult Sequential::step(Var x, std::span<const Var> state,
                            const LayerOperands& operands) const {
    return chain_step(layers, x, state, operands);
}

Var Sequential::sequence(Var x, const LayerOperands& operands) const {
    return chain_sequence(layers, x, operands);
}

bool Sequential::operator==(const Sequential& other) const {
    return layers == other.layers;
}

}  // namespace cambrian
