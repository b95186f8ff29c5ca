#include "cambrian/engine/network/builders/random_layers.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>
#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/layers/chain.hpp"
#include "cambrian/engine/layers/support/width.hpp"

namespace cambrian {

namespace {

// A draw that does not fit is repeated so often: the most unlikely type is found long before.
constexpr int max_draws = 64;

/// A layer for a row, or nothing where the type has none. What it breaks is found by its caller.
using Draw = std::optional<AnyLayer> (*)(LayerDraw& draw, const Shape& row, int depth);

std::optional<AnyLayer> draw_dense(LayerDraw& draw, const Shape& row, int /*depth*/) {
    Dense layer{.in = draw.vector_width(row), .out = draw.width()};
    layer.bias = draw.chance(0.8F);
    layer.activation = draw.activation();
    return layer;
}

template <class Norm>
std::optional<AnyLayer> draw_norm(LayerDraw& draw, const Shape& row, int /*depth*/) {
    static constexpr std::array epsilons{1e-6F, 1e-5F, 1e-3F};
    return Norm{.features = draw.vector_width(row), .epsilon = draw.pick(epsilons)};
}

std::optional<AnyLayer> draw_sequential(LayerDraw& draw, const Shape& row, int depth) {
    if (!draw.may_nest(depth)) return std::nullopt;
    Sequential layer{.layers = draw.chain(row, 3, depth + 1)};
    if (layer.layers.empty()) return std::nullopt;
    return layer;
}

std::optional<AnyLayer> draw_residual(LayerDraw& draw, const Shape& row, int depth) {
    Residual layer;
    if (draw.chance(0.3F) || !draw.may_nest(depth)) return layer;
    if (draw.chance(0.5F)) layer.layers = draw.chain(row, 2, depth + 1);
    layer.layers.push_back(draw.giving(row.elements(), chain_output(layer.layers, row), depth + 1));
    return layer;
}

template <class Recurrent>
std::optional<AnyLayer> draw_recurrent(LayerDraw& draw, const Shape& /*row*/, int /*depth*/) {
    return Recurrent{{.in = 0, .hidden = draw.width()}};
}

std::optional<AnyLayer> draw_attention(LayerDraw& draw, const Shape& row, int /*depth*/) {
    MultiHeadAttention layer;
    layer.causal = row.rank() != 2 || draw.chance(0.3F);
    layer.features = layer.causal ? row.elements() : row[-1];
    layer.heads = draw.chance(0.7F) ? draw.divisor(layer.features) : draw.number(1, 4);
    layer.kv_heads = draw.chance(0.5F) ? 0 : draw.divisor(layer.heads);
    if (layer.features % layer.heads != 0) layer.head_dim = 2 * draw.number(1, 4);
    const std::int64_t head = layer.head_dim == 0 ? layer.features / layer.heads : layer.head_dim;
    if (head % 2 == 0 && draw.chance(0.5F)) layer.rope_base = draw.chance(0.5F) ? 10.0F : 10000.0F;
    layer.bias = draw.chance(0.8F);
    if (layer.causal) layer.window = draw.number(1, 6);
    return layer;
}

std::optional<AnyLayer> draw_swiglu(LayerDraw& draw, const Shape& row, int /*depth*/) {
    return Swiglu{
        .features = draw.vector_width(row), .hidden = draw.width(), .bias = draw.chance(0.8F)};
}

/// What convolutions of both directions draw alike.
template <class Layer>
std::optional<AnyLayer> draw_conv(LayerDraw& draw, const Shape& row, int axes) {
    if (row.rank() != axes + 1) return std::nullopt;
    Layer layer;
    layer.in_channels = row[0];
    layer.groups = draw.chance(0.7F) ? 1 : draw.divisor(row[0]);
    layer.out_channels = layer.groups * draw.number(1, 4);
    layer.kernel = draw.axis_values(axes, 1, 3);
    layer.stride = draw.axis_values(axes, 1, 2);
    layer.padding = draw.axis_values(axes, 0, 1);
    layer.dilation = draw.axis_values(axes, 1, 2);
    layer.bias = draw.chance(0.8F);
    layer.activation = draw.activation();
    if constexpr (requires { layer.output_padding; })
        layer.output_padding = draw.axis_values(axes, 0, 1);
    return layer;
}
template <template <int> class Layer, int axes>
std::optional<AnyLayer> draw_conv_of(LayerDraw& draw, const Shape& row, int /*depth*/) {
    return draw_conv<Layer<axes>>(draw, row, axes);
}

template <class Pool>
std::optional<AnyLayer> draw_pool(LayerDraw& draw, const Shape& row, int /*depth*/) {
    if (row.rank() != 3) return std::nullopt;
    return Pool{.kernel = draw.axis_values(2, 1, 3),
                .stride = draw.axis_values(2, 0, 2),
                .padding = draw.axis_values(2, 0, 1)};
}

std::optional<AnyLayer> draw_batch_norm(LayerDraw& draw, const Shape& row, int /*depth*/) {
    return BatchNorm{.features = row[0], .epsilon = 1e-5F, .momentum = draw.rng().uniform()};
}

std::optional<AnyLayer> draw_dropout(LayerDraw& draw, const Shape& /*row*/, int /*depth*/) {
    return Dropout{.rate = 0.5F * draw.rng().uniform()};
}

/// Ids are what a softmax gives, cut to integers: 0, or 1 where it is certain. Together in one
/// layer, since nothing else between them may change what enters the table.
std::optional<AnyLayer> draw_embedding(LayerDraw& draw, const Shape& row, int depth) {
    if (!draw.may_nest(depth)) return std::nullopt;
    Sequential layer;
    layer.layers.emplace_back(Softmax{.features = draw.vector_width(row)});
    layer.layers.emplace_back(
        Embedding{.vocabulary = draw.number(2, 8), .features = draw.number(1, 8)});
    return layer;
}

std::optional<AnyLayer> draw_kmeans(LayerDraw& draw, const Shape& row, int /*depth*/) {
    return Kmeans{.clusters = draw.width(),
                  .features = draw.vector_width(row),
                  .temperature = 0.5F + 2.0F * draw.rng().uniform(),
                  .output = draw.chance(0.5F) ? "probabilities" : "features"};
}

/// Activations that neurons are drawn from, the first ones: a seed gives the network that it gave
/// when there were no others.
constexpr std::int64_t drawn_activations = 20;

/// Any of these and any aggregation but products and powers, which overflow where they follow each
/// other.
Neurons::Neuron draw_neuron(LayerDraw& draw) {
    for (;;) {
        const auto activation = draw.number(0, drawn_activations - 1);
        const auto aggregation = draw.number(0, std::ssize(neuron_aggregation_names) - 1);
        const Neurons::Neuron neuron{static_cast<NeuronActivation>(activation),
                                     static_cast<NeuronAggregation>(aggregation)};
        if (neuron.activation != NeuronActivation::square &&
            neuron.activation != NeuronActivation::cube &&
            neuron.aggregation != NeuronAggregation::product)
            return neuron;
    }
}

std::optional<AnyLayer> draw_neurons(LayerDraw& draw, const Shape& row, int /*depth*/) {
    Neurons layer;
    layer.in = draw.vector_width(row);
    layer.out = draw.number(1, 8);
    const std::int64_t count = layer.out + draw.number(0, 8);
    const bool recurrent = layer.in == row.elements() && draw.chance(0.3F);
    layer.continuous = recurrent && draw.chance(0.5F);
    for (std::int64_t i = 0; i < count; ++i) layer.neurons.push_back(draw_neuron(draw));
    for (std::int64_t i = draw.number(0, 4 * count); i > 0; --i) {
        const std::int64_t target = draw.number(0, count - 1);
        const std::int64_t delay = recurrent && draw.chance(0.5F) ? draw.number(1, 3) : 0;
        // Without a delay from later neurons to earlier ones.
        const std::int64_t neuron = draw.number(delay > 0 ? 0 : target + 1, count);
        const Neurons::Connection connection{
            .source = neuron < count ? layer.in + neuron : draw.number(-1, layer.in - 1),
            .target = target,
            .delay = delay,
            .enabled = draw.chance(0.9F)};
        const auto same_ends = [&](const Neurons::Connection& other) {
            return other.source == connection.source && other.target == target &&
                   other.delay == delay;
        };
        if (std::ranges::none_of(layer.connections, same_ends))
            layer.connections.push_back(connection);
    }
    return layer;
}

/// Branches like the first where they must give equal rows.
bool fill_branches(LayerDraw& draw, Parallel& layer, bool equal, const Shape& row, int depth) {
    const std::int64_t count = draw.number(1, 3);
    std::optional<AnyLayer> first = draw.any(row, nullptr, depth + 1);
    if (!first) return false;
    const Shape output = first->output_shape(row);
    layer.branches.push_back(*std::move(first));
    for (std::int64_t i = 1; i < count; ++i) {
        std::optional<AnyLayer> branch =
            equal ? draw.giving(output, row, depth + 1) : draw.any(row, nullptr, depth + 1);
        if (!branch) return false;
        layer.branches.push_back(*std::move(branch));
    }
    return true;
}

std::optional<AnyLayer> draw_parallel(LayerDraw& draw, const Shape& row, int depth) {
    struct Way {
        std::string_view combine;
        bool equal = false;
        bool gated = false;
    };
    static constexpr std::array ways{Way{"concat"}, Way{"grid_scatter"}, Way{"add", true},
                                     Way{"average", true}, Way{"filter", true, true}};
    if (!draw.may_nest(depth)) return std::nullopt;
    const Way& way = draw.pick(ways);
    Parallel layer;
    layer.combine = way.combine;
    if (!fill_branches(draw, layer, way.equal, row, depth)) return std::nullopt;
    if (!way.gated) return layer;
    const auto count = static_cast<std::int64_t>(layer.branches.size());
    layer.gate.layer.push_back(draw.giving(count, row, depth + 1));
    layer.top_k = draw.number(0, count);
    return layer;
}

std::optional<AnyLayer> draw_mamba(LayerDraw& draw, const Shape& /*row*/, int /*depth*/) {
    Mamba layer;
    layer.state_size = draw.number(1, 4);
    layer.expand = draw.number(1, 2);
    layer.kernel = draw.number(2, 4);
    layer.dt_rank = draw.number(0, 2);
    return layer;
}

/// How a type is drawn that has settings worth drawing; any other is taken as it is by default.
struct DrawRow {
    std::string_view type;
    Draw draw = nullptr;
};
constexpr std::array rows{
    DrawRow{Dense::name, draw_dense},
    DrawRow{RmsNorm::name, draw_norm<RmsNorm>},
    DrawRow{LayerNorm::name, draw_norm<LayerNorm>},
    DrawRow{Softmax::name, draw_softmax},
    DrawRow{Sequential::name, draw_sequential},
    DrawRow{Residual::name, draw_residual},
    DrawRow{Rnn::name, draw_recurrent<Rnn>},
    DrawRow{Lstm::name, draw_recurrent<Lstm>},
    DrawRow{Gru::name, draw_recurrent<Gru>},
    DrawRow{Mgu::name, draw_recurrent<Mgu>},
    DrawRow{Ugrnn::name, draw_recurrent<Ugrnn>},
    DrawRow{Delta::name, draw_recurrent<Delta>},
    DrawRow{MultiHeadAttention::name, draw_attention},
    DrawRow{Swiglu::name, draw_swiglu},
    DrawRow{Conv1d::name, draw_conv_of<Conv, 1>},
    DrawRow{Conv2d::name, draw_conv_of<Conv, 2>},
    DrawRow{Conv3d::name, draw_conv_of<Conv, 3>},
    DrawRow{ConvTranspose1d::name, draw_conv_of<ConvTranspose, 1>},
    DrawRow{ConvTranspose2d::name, draw_conv_of<ConvTranspose, 2>},
    DrawRow{ConvTranspose3d::name, draw_conv_of<ConvTranspose, 3>},
    DrawRow{MaxPool2d::name, draw_pool<MaxPool2d>},
    DrawRow{AveragePool2d::name, draw_pool<AveragePool2d>},
    DrawRow{BatchNorm::name, draw_batch_norm},
    DrawRow{Dropout::name, draw_dropout},
    DrawRow{Embedding::name, draw_embedding},
    DrawRow{Kmeans::name, draw_kmeans},
    DrawRow{Parallel::name, draw_parallel},
    DrawRow{Mamba::name, draw_mamba},
    DrawRow{Neurons::name, draw_neurons},
};

std::int64_t weights_of(const AnyLayer& layer) {
    std::int64_t count = 0;
    for (const ParameterSpec& parameter : layer.parameters()) count += parameter.shape.elements();
    return count;
}

}  // namespace

bool LayerDraw::is_allowed(const AnyLayer& layer, const Shape& row) const {
    return layer.output_shape(row).elements() <= std::max(limits_.elements, row.elements()) &&
           weights_of(layer) <= limits_.weights && (limits_.state || !layer.stateful()) &&
           (limits_.buffers || !layer.has_buffers()) && nesting(layer) <= limits_.nesting;
}

std::optional<AnyLayer> LayerDraw::of_type(std::string_view type, const Shape& row,
                                           const Shape* preceding, int depth) {
    const auto* const found = std::ranges::find(rows, type, &DrawRow::type);
    std::optional<AnyLayer> layer =
        found == rows.end() ? default_layer(type) : found->draw(*this, row, depth);
    if (!layer) return std::nullopt;
    try {
        if (adds_preceding_input(*layer)) check_preceding(preceding, row);
        layer->resolve(row);
        if (!is_allowed(*layer, row)) return std::nullopt;
    } catch (const ShapeError&) {
        return std::nullopt;  // what was drawn does not fit, which the caller expects
    }
    return layer;
}

std::optional<AnyLayer> LayerDraw::any(const Shape& row, const Shape* preceding, int depth) {
    for (int i = 0; i < max_draws; ++i) {
        const std::string_view type =
            limits_.types[rng_.index(static_cast<std::uint32_t>(limits_.types.size()))];
        if (auto layer = of_type(type, row, preceding, depth)) return layer;
    }
    return std::nullopt;
}

AnyLayer LayerDraw::giving(std::int64_t elements, const Shape& row, int depth) {
    constexpr int draws = 8;
    for (int i = 0; i < draws; ++i) {
        if (auto layer = any(row, nullptr, depth);
            layer && layer->output_shape(row).elements() == elements)
            return *std::move(layer);
        // Types that are told their width: the default one of any.
        AnyLayer layer = *default_layer(
            limits_.types[rng_.index(static_cast<std::uint32_t>(limits_.types.size()))]);
        layer.infer_output(elements);
        try {
            layer.resolve(row);
            if (layer.type() != Embedding::name && !adds_preceding_input(layer) &&
                is_allowed(layer, row) && layer.output_shape(row).elements() == elements)
                return layer;
        } catch (const ShapeError&) {
            continue;  // of that type there is none
        }
    }
    Dense last{.out = elements};
    last.resolve(row);
    return last;
}

std::optional<AnyLayer> LayerDraw::giving(const Shape& output, const Shape& row, int depth) {
    for (int i = 0; i < max_draws; ++i) {
        const std::string_view type =
            limits_.types[rng_.index(static_cast<std::uint32_t>(limits_.types.size()))];
        std::optional<AnyLayer> layer = of_type(type, row, nullptr, depth);
        if (layer && layer->output_shape(row) == output) return layer;
        layer = fitted_layer(type, row, output);
        if (layer && layer->output_shape(row) == output && is_allowed(*layer, row)) return layer;
    }
    return std::nullopt;
}

std::int64_t LayerDraw::number(std::int64_t least, std::int64_t most) {
    return least +
           static_cast<std::int64_t>(rng_.index(static_cast<std::uint32_t>(most - least + 1)));
}

Activation LayerDraw::activation() {
    // A seed gives the network that it gave when there were no others.
    return static_cast<Activation>(rng_.index(static_cast<std::uint32_t>(common_activations)));
}

std::int64_t LayerDraw::vector_width(const Shape& row) {
    const auto axes = static_cast<std::size_t>(number(1, row.rank()));
    std::int64_t elements = 1;
    for (const std::int64_t extent : row.extents().last(axes)) elements *= extent;
    return elements;
}

std::int64_t LayerDraw::divisor(std::int64_t of) {
    std::vector<std::int64_t> divisors;
    for (std::int64_t i = 1; i <= of; ++i)
        if (of % i == 0) divisors.push_back(i);
    return divisors[rng_.index(static_cast<std::uint32_t>(divisors.size()))];
}

AxisValues LayerDraw::axis_values(int axes, std::int64_t least, std::int64_t most) {
    AxisValues values = number(least, most);
    if (chance(0.5F)) return values;
    values.values.clear();
    for (int axis = 0; axis < axes; ++axis) values.values.push_back(number(least, most));
    return values;
}

std::vector<AnyLayer> LayerDraw::chain(const Shape& row, std::int64_t most, int depth) {
    std::vector<AnyLayer> layers;
    Shape current = row;
    std::optional<Shape> preceding;
    for (std::int64_t left = number(1, most); left > 0; --left) {
        std::optional<AnyLayer> layer = any(current, preceding ? &*preceding : nullptr, depth);
        if (!layer) break;
        preceding = std::exchange(current, layer->output_shape(current));
        layers.push_back(*std::move(layer));
    }
    return layers;
}

std::vector<std::string_view> drawn_types() {
    std::vector<std::string_view> types;
    for (const DrawRow& row : rows) types.push_back(row.type);
    return types;
}

}  // namespace cambrian
