#include "cambrian/engine/layers/identity.hpp"

#include <utility>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian {

namespace {

bool is_unit(const Dense& dense) {
    return dense.in == dense.out && dense.activation == Activation::linear;
}

/// The last dense of a residual's chain, or null.
const Dense* last_dense(const AnyLayer& layer) {
    const auto* residual = std::get_if<Residual>(&layer.variant());
    if (residual == nullptr || residual->layers.empty()) return nullptr;
    return std::get_if<Dense>(&residual->layers.back().variant());
}

std::vector<float> unit_weights(const Dense& dense) {
    const auto width = static_cast<std::size_t>(dense.in);
    std::vector<float> weights(width * width + (dense.bias ? width : 0), 0.0F);
    for (std::size_t i = 0; i < width; ++i) weights[i * width + i] = 1.0F;
    return weights;
}

}  // namespace

bool can_be_identity(const AnyLayer& layer) {
    if (const auto* dense = std::get_if<Dense>(&layer.variant())) return is_unit(*dense);
    const Dense* last = last_dense(layer);
    return last != nullptr && last->activation != Activation::sigmoid;
}

std::vector<float> identity_parameters(const AnyLayer& layer) {
    CAMBRIAN_ASSERT(can_be_identity(layer));
    if (const auto* dense = std::get_if<Dense>(&layer.variant())) return unit_weights(*dense);
    std::vector<float> weights;
    for (const ParameterSpec& parameter : layer.parameters()) {
        const float value = parameter.initial == Initial::ones ? 1.0F : 0.0F;
        weights.resize(weights.size() + static_cast<std::size_t>(parameter.shape.elements()),
                       value);
    }
    return weights;
}

std::optional<AnyLayer> identity_layer(std::string_view type, const Shape& row) {
    std::optional<AnyLayer> layer = fitted_layer(type, row, row);
    if (!layer || can_be_identity(*layer)) return layer;
    const std::int64_t width = row.elements();
    Residual residual{.layers = {}, .features = width};
    residual.layers.push_back(*std::move(layer));
    residual.layers.emplace_back(Dense{.in = width, .out = width});
    return AnyLayer(std::move(residual));
}

}  // namespace cambrian
