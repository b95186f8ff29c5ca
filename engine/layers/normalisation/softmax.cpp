#include "cambrian/engine/layers/normalisation/softmax.hpp"

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/layers/normalisation/softmax_variants.hpp"

namespace cambrian {

std::vector<Softmax> Softmax::examples() {
    return {
        example(),
        {.variant = "temperature", .features = 4, .temperature = 0.5F},
        {.variant = "grid", .features = 6, .rows = 2, .cols = 3},
        {.variant = "hierarchical", .features = 8, .levels = {2, 3}},
        {.variant = "gumbel", .features = 4},
        {.variant = "masked", .features = 4, .mask = {true, false, true, true}},
        {.variant = "sparse", .features = 5},
        {.variant = "entmax", .features = 5, .alpha = 1.3F},
        {.variant = "adaptive", .features = 4, .cutoffs = {2, 4, 7}},
        {.variant = "mixture", .features = 4, .mixtures = 2, .classes = 3},
    };
}

std::string_view Softmax::fault() const {
    const SoftmaxVariant* const row = softmax_variant(variant);
    if (row == nullptr)
        return "variant is \"standard\", \"temperature\", \"grid\", \"hierarchical\", \"gumbel\", "
               "\"masked\", \"sparse\", \"entmax\", \"adaptive\" or \"mixture\"";
    if (const std::string_view text = temperature_fault(temperature); !text.empty()) return text;
    // Its power is 1 / (alpha - 1).
    constexpr float smallest_alpha = 1.01F;
    if (!(alpha == 1.0F || (alpha >= smallest_alpha && alpha <= 2.0F)))
        return "alpha is 1, or from 1.01 to 2 (nearer to 1 floats do not tell it)";
    return row->fault(*this);
}

void Softmax::resolve(const Shape& input) {
    require_no_fault(name, fault());
    const SoftmaxVariant& row = *softmax_variant(variant);
    const std::int64_t needed = row.features(*this);
    if (features == 0 && needed > 0) features = needed;
    resolve_width(name, "features", features, input);
    if (needed > 0 && needed != features)
        throw ShapeError("softmax does not fit its input (its " + variant + " variant takes " +
                         rows_of(needed) + ", the input is " + rows_of(features) +
                         ") change its fields");
    require_range(name, "output", row.outputs(*this));
}

void Softmax::infer_output(std::int64_t width) {
    if (classes == 0 && variant == "mixture") classes = width;
}

Shape Softmax::output_shape(const Shape& input) const {
    const std::int64_t outputs = softmax_variant(variant)->outputs(*this);
    return outputs == features ? input : with_width(input, features, outputs);
}

std::vector<ParameterSpec> Softmax::parameters() const {
    return softmax_variant(variant)->parameters(*this);
}

Var Softmax::build(Var x, const LayerOperands& operands) const {
    const Var y =
        softmax_variant(variant)->build(*this, as_vectors(x, features, operands.row), operands);
    return y.shape()[-1] == features ? shaped(y, x.shape()) : y;
}

}  // namespace cambrian
