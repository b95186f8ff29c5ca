#include "cambrian/engine/layers/identity.hpp"

#include <span>
#include <type_traits>
#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/layers/chain.hpp"
#include "cambrian/engine/layers/support/initial.hpp"

namespace cambrian {

namespace {

bool is_unit(const Dense& dense) {
    return dense.in == dense.out && dense.activation == Activation::identity && dense.tied.empty();
}

/// Whether weights of zero make a layer give zeros: a sum of weighted inputs through an activation
/// that keeps 0.
bool can_give_zeros(const AnyLayer& layer) {
    return std::visit(
        []<class L>(const L& concrete) {
            constexpr bool sums = std::is_same_v<L, Dense> || std::is_same_v<L, Conv1d> ||
                                  std::is_same_v<L, Conv2d> || std::is_same_v<L, Conv3d>;
            if constexpr (sums) {
                return info_of(concrete.activation).keeps_zero;
            } else {
                return false;
            }
        },
        layer.variant());
}

}  // namespace

bool can_be_identity(const AnyLayer& layer) {
    if (const auto* dense = std::get_if<Dense>(&layer.variant())) return is_unit(*dense);
    const auto* residual = std::get_if<Residual>(&layer.variant());
    return residual != nullptr && !residual->layers.empty() &&
           can_give_zeros(residual->layers.back());
}

std::vector<float> unit_parameters(const Dense& dense) {
    const auto width = static_cast<std::size_t>(dense.in);
    std::vector<float> weights(width * width + (dense.bias ? width : 0), 0.0F);
    for (std::size_t i = 0; i < width; ++i) weights[i * width + i] = 1.0F;
    return weights;
}

std::vector<float> identity_parameters(const AnyLayer& layer, RandomStream& rng) {
    CAMBRIAN_ASSERT(can_be_identity(layer));
    if (const auto* dense = std::get_if<Dense>(&layer.variant())) return unit_parameters(*dense);
    const std::vector<AnyLayer>& inner = std::get<Residual>(layer.variant()).layers;
    std::vector<float> weights;
    for (const AnyLayer& own : inner) {
        for (const ParameterSpec& parameter : own.parameters()) {
            const std::size_t start = weights.size();
            weights.resize(start + static_cast<std::size_t>(parameter.shape.elements()), 0.0F);
            const bool is_zero = &own == &inner.back() && parameter.initial == Initial::weight;
            if (!is_zero) fill_initial(parameter, rng, std::span(weights).subspan(start));
        }
    }
    return weights;
}

std::optional<AnyLayer> identity_layer(std::string_view type, const Shape& row) {
    std::optional<AnyLayer> layer = fitted_layer(type, row, row);
    if (!layer || can_be_identity(*layer)) return layer;
    std::optional<AnyLayer> last = square_layer(row);
    if (!last) return std::nullopt;
    Residual residual{.layers = {}, .features = row.elements()};
    residual.layers.push_back(*std::move(layer));
    residual.layers.push_back(*std::move(last));
    return AnyLayer(std::move(residual));
}

}  // namespace cambrian
