#include "cambrian/engine/layers/residual.hpp"

#include <string>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/layers/chain.hpp"
#include "cambrian/engine/layers/support/width.hpp"

namespace cambrian {

Residual Residual::example() {
    Residual result{.layers = {}, .features = 4};
    result.layers.emplace_back(RmsNorm{.features = 4});
    result.layers.emplace_back(Dense{.in = 4, .out = 4, .activation = Activation::gelu});
    return result;
}

std::optional<Residual> Residual::fitted(const Shape& in, const Shape& out) {
    std::optional<AnyLayer> inner = square_layer(in);
    if (in != out || !inner) return std::nullopt;
    Residual result{.layers = {}, .features = in.elements()};
    result.layers.push_back(*std::move(inner));
    return result;
}

void Residual::resolve(const Shape& input) {
    resolve_whole_row(name, "features", features, input);
    if (layers.empty()) return;
    layers.back().infer_output(features);
    const Shape output = resolve_chain(name, layers, input);
    if (output.elements() != features)
        throw ShapeError("residual cannot add its layers to its input (they give " +
                         rows_of(output) + ", the input is " + rows_of(input) +
                         ") make the last layer " + std::to_string(features) + " wide");
}

std::vector<ParameterSpec> Residual::parameters() const {
    return chain_parameters(layers);
}

bool Residual::stateful() const {
    return chain_stateful(layers);
}

std::vector<StateSpec> Residual::state() const {
    return chain_state(layers);
}

Var Residual::build(Var x, const LayerOperands& operands) const {
    return step(x, {}, operands).output;
}

StepResult Residual::step(Var x, std::span<const Var> state, const LayerOperands& operands) const {
    CAMBRIAN_ASSERT(!layers.empty());
    StepResult result = chain_step(layers, x, state, operands);
    result.output = x + shaped(result.output, x.shape());
    return result;
}

Var Residual::sequence(Var x, const LayerOperands& operands) const {
    CAMBRIAN_ASSERT(!layers.empty());
    return x + shaped(chain_sequence(layers, x, operands), x.shape());
}

bool Residual::operator==(const Residual& other) const {
    return features == other.features && layers == other.layers;
}

}  // namespace cambrian
