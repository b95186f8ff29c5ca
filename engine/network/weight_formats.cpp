#include "cambrian/engine/network/weight_formats.hpp"

#include <algorithm>
#include <cstddef>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian {

namespace {

constexpr std::int64_t float_bytes = 4;

template <class Has>
bool any_formats(const Blueprint& blueprint, Has has) {
    return has(blueprint.head_formats) ||
           std::ranges::any_of(blueprint.slots, [&](const std::optional<Slot>& slot) {
               return slot && has(slot->formats);
           });
}

}  // namespace

const LayerFormats& formats_of(const Blueprint& blueprint, int slot) {
    static constexpr LayerFormats plain{};
    if (slot == blueprint.grid.slots()) return blueprint.head_formats;
    CAMBRIAN_EXPECT(slot >= 0 && slot < blueprint.grid.slots());
    const std::optional<Slot>& filled = blueprint.slots[static_cast<std::size_t>(slot)];
    return filled ? filled->formats : plain;
}

std::string weights_text(const LayerFormats& formats) {
    const std::string text(name(formats.weights));
    if (formats.scales == Scales::format || !takes_scales(formats.weights)) return text;
    return text + " (scales: " + std::string(name(formats.scales)) + ")";
}

MatrixExtents matrix_of(const ParameterSpec& parameter) {
    const std::int64_t elements = parameter.shape.elements();
    if (parameter.connections || elements == 0) return {.rows = 1, .columns = elements};
    return {.rows = parameter.shape[0], .columns = elements / parameter.shape[0]};
}

std::int64_t stored_bytes(const ParameterSpec& parameter, const LayerFormats& formats) {
    if (!parameter.encoded() || formats.weights == Dtype::float32)
        return float_bytes * parameter.shape.elements();
    return stored_bytes(QuantisationScheme(formats.weights, formats.scales), matrix_of(parameter));
}

int slot_of_formats(const Blueprint& blueprint, const WeightRange& range) {
    return range.link >= 0 ? blueprint.links[static_cast<std::size_t>(range.link)].target
                           : range.slot;
}

std::optional<EncodedRange> encoded_range(const Blueprint& blueprint, const WeightRange& range) {
    if (!range.parameter.encoded() || range.count == 0) return std::nullopt;
    const LayerFormats& formats = formats_of(blueprint, slot_of_formats(blueprint, range));
    if (formats.weights == Dtype::float32) return std::nullopt;
    EncodedRange encoded{.offset = range.offset,
                         .extents = matrix_of(range.parameter),
                         .dtype = formats.weights,
                         .scales = formats.scales};
    if (encoded.scheme().group != ScaleGroup::none) encoded.disabled = range.parameter.disabled;
    return encoded;
}

void EncodedRange::leave_out_disabled(std::span<float> own) const {
    for (const std::int64_t number : disabled)
        own[static_cast<std::size_t>(number)] = uncounted(row(dtype));
}

void EncodedRange::round(std::span<float> own) const {
    leave_out_disabled(own);
    round_to_codes(scheme(), extents, own);
}

QuantisedMatrix EncodedRange::quantised(std::span<const float> own) const {
    if (disabled.empty()) return quantise(scheme(), extents, own);
    std::vector<float> counted(own.begin(), own.end());
    leave_out_disabled(counted);
    return quantise(scheme(), extents, counted);
}

bool encodes_weights(const Blueprint& blueprint) {
    return any_formats(blueprint,
                       [](const LayerFormats& each) { return each.weights != Dtype::float32; });
}

bool encodes_activations(const Blueprint& blueprint) {
    return any_formats(blueprint,
                       [](const LayerFormats& each) { return each.activations != Dtype::float32; });
}

WeightFormats::WeightFormats(const Network& network) {
    for (const WeightRange& range : network.weights()) {
        const auto encoded = encoded_range(network.blueprint(), range);
        if (encoded) encoded_.push_back(*encoded);
        bytes_ += encoded ? stored_bytes(encoded->scheme(), encoded->extents)
                          : float_bytes * range.parameter.shape.elements();
    }
}

void WeightFormats::round(std::span<float> weights) const {
    for (const EncodedRange& range : encoded_)
        range.round(weights.subspan(static_cast<std::size_t>(range.offset),
                                    static_cast<std::size_t>(range.extents.elements())));
}

std::vector<float> evaluated_weights(const Network& network, std::span<const float> masters) {
    std::vector<float> weights(masters.begin(), masters.end());
    if (encodes_weights(network.blueprint())) WeightFormats(network).round(weights);
    return weights;
}

}  // namespace cambrian
