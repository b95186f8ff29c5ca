#include "cambrian/engine/layers/residual.hpp"

#include <string>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/layers/chain.hpp"

namespace cambrian {

Residual Residual::example() {
    Residual result{.layers = {}, .features = 4};
    result.layers.emplace_back(RmsNorm{.features = 4});
    result.layers.emplace_back(Dense{.in = 4, .out = 4, .activation = Activation::gelu});
    return result;
}

std::optional<Residual> Residual::fitted(std::int64_t in, std::int64_t out) {
    if (in != out) return std::nullopt;
    Residual result{.layers = {}, .features = in};
    result.layers.emplace_back(Dense{.in = in, .out = in});
    return result;
}

void Residual::resolve(std::int64_t input_features) {
    resolve_width(name, "features", features, input_features);
    if (layers.empty()) return;
    layers.back().infer_output(features);
    const std::int64_t width = resolve_chain(name, layers, features);
    if (width != features)
        throw ShapeError("residual cannot add its layers to its input (they give [.., " +
                         std::to_string(width) + "], the input is [.., " +
                         std::to_string(features) + "]) make the last layer " +
                         std::to_string(features) + " wide");
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
    result.output = x + result.output;
    return result;
}

bool Residual::operator==(const Residual& other) const {
    return features == other.features && layers == other.layers;
}

}  // namespace cambrian
