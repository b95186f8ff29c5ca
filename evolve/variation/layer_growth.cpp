#include <algorithm>
#include <type_traits>

#include "cambrian/engine/layers/identity.hpp"
#include "cambrian/evolve/genome/layer_traits.hpp"
#include "cambrian/evolve/variation/layer_change.hpp"

// Which layers can have more units, and which can be followed by one of their own kind, so that a
// network computes what it did (Chen et al., "Net2Net", 2016). New units are weighted with zero by
// what reads them; the paper copies units and halves their weights, which also holds for any
// activation but makes twins.
namespace cambrian::evolve {

namespace {

struct Growth {
    std::string_view fault;
    std::optional<AnyLayer> layer{};
};

template <class L>
Growth grown(L layer, std::int64_t units) {
    if constexpr (std::is_same_v<L, Dense>) {
        if (!layer.tied.empty()) {
            return {"its weight is another layer's"};
        }
        layer.out += units;
    } else if constexpr (is_convolution<L>) {
        if (layer.groups != 1) {
            return {"its channels are in groups of equal size"};
        }
        layer.out_channels += units;
    } else if constexpr (is_recurrent<L> || std::is_same_v<L, Swiglu>) {
        layer.hidden += units;
    } else if constexpr (std::is_same_v<L, Embedding>) {
        layer.features += units;
    } else if constexpr (std::is_same_v<L, MultiHeadAttention>) {
        if (layer.kv_heads != layer.heads) {
            return {"its heads share keys in groups of equal size"};
        }
        layer.heads += units;
        layer.kv_heads += units;
    } else if constexpr (std::is_same_v<L, Mamba>) {
        ++layer.expand;
    } else if constexpr (std::is_same_v<L, Kmeans>) {
        return {"a cluster more takes a share of all the others"};
    } else if constexpr (std::is_same_v<L, Neurons>) {
        return {"its neurons are genes of their own"};
    } else if constexpr (
        requires { layer.layers; } || requires { layer.branches; }) {
        return {"its width is that of the layers in it"};
    } else {
        return {"it is as wide as its input"};
    }
    return {{}, AnyLayer(std::move(layer))};
}

/// Whether f(f(x)) is f(x) for every x.
bool is_idempotent(Activation activation) {
    return activation == Activation::identity || activation == Activation::relu;
}

std::optional<DeeperLayer> unit_dense(const Dense& before) {
    Dense layer{.in = before.out, .out = before.out, .bias = before.bias};
    std::vector<float> weights = unit_parameters(layer);
    layer.activation = before.activation;
    return DeeperLayer{layer, std::move(weights)};
}

/// A kernel of 3 whose middle passes each channel on.
template <class Conv>
std::optional<DeeperLayer> unit_conv(const auto& before, int axes) {
    const std::int64_t channels = before.out_channels;
    Conv layer;
    layer.in_channels = channels;
    layer.out_channels = channels;
    layer.padding = 1;
    layer.bias = before.bias;
    layer.activation = before.activation;
    std::int64_t window = 1;
    for (int axis = 0; axis < axes; ++axis) {
        window *= layer.kernel[axis];
    }
    const std::int64_t count = channels * channels * window + (layer.bias ? channels : 0);
    std::vector<float> weights(static_cast<std::size_t>(count), 0.0F);
    for (std::int64_t channel = 0; channel < channels; ++channel) {
        const std::int64_t kernel = channel * channels + channel;
        weights[static_cast<std::size_t>(kernel * window + window / 2)] = 1.0F;
    }
    return DeeperLayer{layer, std::move(weights)};
}

}  // namespace

std::optional<AnyLayer> widened(const AnyLayer& layer, std::int64_t units) {
    std::optional<AnyLayer> wider = std::visit(
        [units](const auto& concrete) { return grown(concrete, units).layer; }, layer.variant());
    if (wider) {
        wider->rules = layer.rules;
    }
    return wider;
}

std::string_view widening_fault(const AnyLayer& layer) {
    return std::visit([](const auto& concrete) { return grown(concrete, 1).fault; },
                      layer.variant());
}

std::string_view deepening_fault(const AnyLayer& layer) {
    return std::visit(
        []<class L>(const L& concrete) -> std::string_view {
            if constexpr (std::is_same_v<L, Dense> || is_convolution<L>) {
                if (!is_idempotent(concrete.activation)) {
                    return "its activation changes what has gone through it already";
                }
                return {};
            } else if constexpr (is_recurrent<L>) {
                return "one more would gate what this one gives";
            } else {
                return "it has no weights that pass each input on";
            }
        },
        layer.variant());
}

std::optional<DeeperLayer> deeper(const AnyLayer& layer) {
    if (!deepening_fault(layer).empty()) {
        return std::nullopt;
    }
    std::optional<DeeperLayer> result = std::visit(
        []<class L>(const L& concrete) -> std::optional<DeeperLayer> {
            if constexpr (std::is_same_v<L, Dense>) {
                return unit_dense(concrete);
            } else if constexpr (std::is_same_v<L, Conv1d> || std::is_same_v<L, ConvTranspose1d>) {
                return unit_conv<Conv1d>(concrete, 1);
            } else if constexpr (std::is_same_v<L, Conv2d> || std::is_same_v<L, ConvTranspose2d>) {
                return unit_conv<Conv2d>(concrete, 2);
            } else if constexpr (std::is_same_v<L, Conv3d> || std::is_same_v<L, ConvTranspose3d>) {
                return unit_conv<Conv3d>(concrete, 3);
            } else {
                return std::nullopt;
            }
        },
        layer.variant());
    if (result) {
        result->layer.rules = layer.rules;
    }
    return result;
}

}  // namespace cambrian::evolve
