#include "cambrian/engine/network/builders/builders.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/json_read.hpp"
#include "cambrian/engine/network/builders/checks.hpp"
#include "cambrian/engine/network/network.hpp"

namespace cambrian {

namespace {

using builder_checks::refuse;
using builder_checks::require;

/// Norms by the name that settings give them; "none" makes none.
struct Norm {
    std::string_view name;
    AnyLayer (*make)(std::int64_t features) = nullptr;
};
template <class L>
AnyLayer make_norm(std::int64_t features) {
    return L{.features = features};
}
constexpr std::array norms{
    Norm{"none"},
    Norm{RmsNorm::name, make_norm<RmsNorm>},
    Norm{LayerNorm::name, make_norm<LayerNorm>},
    Norm{BatchNorm::name, make_norm<BatchNorm>},
};

/// Appends the norm of that name; of 0 features: of whole rows.
void append_norm(std::vector<AnyLayer>& layers, std::string_view name, std::int64_t features) {
    const auto* const found = std::ranges::find(norms, name, &Norm::name);
    CAMBRIAN_ASSERT(found != norms.end());
    if (found->make != nullptr) layers.push_back(found->make(features));
}

void append_dropout(std::vector<AnyLayer>& layers, float rate) {
    if (rate > 0.0F) layers.emplace_back(Dropout{.rate = rate});
}

void check_choice(std::string_view key, const std::string& value,
                  std::span<const std::string_view> allowed) {
    if (std::ranges::find(allowed, value) != allowed.end()) return;
    std::string names;
    for (const std::string_view name : allowed)
        names += (names.empty() ? "" : ", ") + std::string(name);
    refuse(key, "is \"" + value + "\"", "allowed: " + names, "choose one of them");
}

void check_rate(float rate) {
    if (rate >= 0.0F && rate < 1.0F) return;
    refuse("dropout", "is " + std::to_string(rate), "a rate is 0 to below 1", "change it");
}

void check_widths(std::string_view key, const std::vector<std::int64_t>& widths) {
    builder_checks::require_count(key, static_cast<std::int64_t>(widths.size()), "entries");
    for (const std::int64_t width : widths) require(key, width, 1, widest_layer);
}

/// A hidden layer of a dense stack, and what stands around it.
std::vector<AnyLayer> hidden(const DenseStack& settings, std::int64_t width, bool first) {
    std::vector<AnyLayer> layers;
    if (!first) append_norm(layers, settings.norm, 0);
    layers.emplace_back(Dense{.out = width, .activation = settings.activation});
    append_dropout(layers, settings.dropout);
    return layers;
}

std::vector<AnyLayer> layers_of(const DenseStack& settings, const NetworkEnds& ends) {
    static constexpr std::array allowed{norms[0].name, norms[1].name, norms[2].name, norms[3].name};
    check_widths("widths", settings.widths);
    check_choice("norm", settings.norm, allowed);
    check_rate(settings.dropout);
    std::vector<AnyLayer> layers;
    std::int64_t before = ends.input_features;
    for (std::size_t i = 0; i < settings.widths.size(); ++i) {
        const std::int64_t width = settings.widths[i];
        std::vector<AnyLayer> block = hidden(settings, width, i == 0);
        if (settings.residual && width == std::exchange(before, width))
            layers.emplace_back(Residual{.layers = std::move(block)});
        else
            layers.insert(layers.end(), block.begin(), block.end());
    }
    if (!settings.widths.empty()) append_norm(layers, settings.norm, 0);
    layers.emplace_back(Dense{});
    return layers;
}

/// Appends the pooling of a stage, whose rows are [channels, extents..], and moves the extents.
void append_pool(std::vector<AnyLayer>& layers, const Convolutional& settings, std::size_t stage,
                 Shape& row) {
    if (settings.pool == "none") return;
    const std::int64_t size = settings.pool_size;
    if (row[1] < size || row[2] < size)
        refuse("pool_size", "is " + std::to_string(size),
               "stage " + std::to_string(stage) + " has only " + rows_of(row) + " left",
               "list fewer \"channels\" (one a stage) or use a smaller size");
    if (settings.pool == "max")
        layers.emplace_back(MaxPool2d{.kernel = size});
    else
        layers.emplace_back(AveragePool2d{.kernel = size});
    row = {row[0], row[1] / size, row[2] / size};
}

std::vector<AnyLayer> layers_of(const Convolutional& settings, const NetworkEnds& ends) {
    static constexpr std::array<std::string_view, 3> pools{"none", "max", "average"};
    check_widths("channels", settings.channels);
    check_widths("widths", settings.widths);
    if (settings.kernel % 2 == 0)
        refuse("kernel", "is " + std::to_string(settings.kernel),
               "only an odd one keeps the extents", "change it");
    check_choice("pool", settings.pool, pools);
    require("pool_size", settings.pool_size, 1, widest_layer);
    check_rate(settings.dropout);
    if (ends.input_shape.rank() != 3)
        json_read::fail(
            "network.input",
            ends.input_shape.rank() == 0 ? "is missing" : "is " + ends.input_shape.text(),
            "convolutional networks see [C, H, W]", "write three extents");
    std::vector<AnyLayer> layers;
    Shape row = ends.input_shape;
    for (std::size_t stage = 0; stage < settings.channels.size(); ++stage) {
        row = {settings.channels[stage], row[1], row[2]};
        layers.emplace_back(Conv2d{.out_channels = row[0],
                                   .kernel = settings.kernel,
                                   .padding = settings.kernel / 2,
                                   .activation = settings.activation});
        if (settings.batch_norm) layers.emplace_back(BatchNorm{});
        append_pool(layers, settings, stage, row);
    }
    for (const std::int64_t width : settings.widths) {
        append_dropout(layers, settings.dropout);
        layers.emplace_back(Dense{.out = width, .activation = settings.activation});
    }
    append_dropout(layers, settings.dropout);
    layers.emplace_back(Dense{});
    return layers;
}

void check_heads(const Transformer& settings) {
    require("heads", settings.heads, 1, widest_layer);
    if (settings.features % settings.heads != 0)
        refuse("heads", "is " + std::to_string(settings.heads),
               "it does not divide the " + std::to_string(settings.features) + " features",
               "change one of them");
    if (settings.kv_heads > 0 && settings.heads % settings.kv_heads != 0)
        refuse("kv_heads", "is " + std::to_string(settings.kv_heads),
               "it does not divide the " + std::to_string(settings.heads) + " heads", "change it");
    if (!(settings.rope_base >= 0.0F))
        refuse("rope_base", "is " + std::to_string(settings.rope_base), "a base is 0 or more",
               "change it");
    if (settings.rope_base > 0.0F && settings.features / settings.heads % 2 != 0)
        refuse("rope_base", "is given",
               "it turns pairs of elements and a head has " +
                   std::to_string(settings.features / settings.heads),
               "use heads of even width");
}

/// Whether the rows between the blocks are whole sequences, as attention without causality needs.
void check_positions(const Transformer& settings, const NetworkEnds& ends) {
    if (settings.causal) {
        const bool one_id = settings.vocabulary == 0 || ends.input_features == 1;
        if (!ends.time)
            refuse("causal", "is true", "the task has no steps in time, which are the positions",
                   "set it to false");
        if (!one_id)
            refuse("causal", "is true",
                   "a step has " + std::to_string(ends.input_features) + " ids and is one position",
                   "set it to false");
        return;
    }
    if (settings.window > 0)
        refuse("window", "is " + std::to_string(settings.window), "it is of causal attention",
               "leave it out");
    const bool fits = settings.vocabulary > 0
                          ? ends.input_shape.rank() <= 1 && ends.input_features > 1
                          : ends.input_shape.rank() == 2 && ends.input_shape[0] > 1;
    if (!fits)
        json_read::fail(
            "network.input",
            ends.input_shape.rank() == 0 ? "is missing" : "is " + ends.input_shape.text(),
            settings.vocabulary > 0 ? "attention without causality sees rows of several ids"
                                    : "attention without causality sees [positions, features]",
            // Causal attention needs a task with time.
            ends.time ? "write such extents, or set network.build.causal to true"
                      : "write such extents, whose product is the inputs of the task");
}

std::vector<AnyLayer> layers_of(const Transformer& settings, const NetworkEnds& ends) {
    static constexpr std::array allowed{norms[1].name, norms[2].name};
    builder_checks::require_count("blocks", settings.blocks, "blocks");
    require("features", settings.features, 1, widest_layer);
    check_heads(settings);
    check_choice("norm", settings.norm, allowed);
    check_rate(settings.dropout);
    check_positions(settings, ends);

    std::vector<AnyLayer> layers;
    const std::int64_t features = settings.features;
    if (settings.vocabulary > 0)
        layers.emplace_back(Embedding{.vocabulary = settings.vocabulary, .features = features});
    else
        layers.emplace_back(
            Dense{.in = settings.causal ? 0 : ends.input_shape[1], .out = features});
    const auto block = [&](AnyLayer layer) {
        Residual residual;
        append_norm(residual.layers, settings.norm, features);
        residual.layers.push_back(std::move(layer));
        append_dropout(residual.layers, settings.dropout);
        return residual;
    };
    std::int64_t window = settings.window;
    if (settings.causal && window == 0 && ends.steps > MultiHeadAttention::default_window)
        window = ends.steps;
    for (std::int64_t i = 0; i < settings.blocks; ++i) {
        layers.emplace_back(block(MultiHeadAttention{.features = features,
                                                     .heads = settings.heads,
                                                     .kv_heads = settings.kv_heads,
                                                     .causal = settings.causal,
                                                     .rope_base = settings.rope_base,
                                                     .window = window}));
        layers.emplace_back(block(Swiglu{.features = features, .hidden = settings.hidden}));
    }
    append_norm(layers, settings.norm, features);
    layers.emplace_back(Dense{});
    return layers;
}

/// Puts the layers, of which the last is the head, into slots one after the other.
Blueprint placed(std::vector<AnyLayer> layers, const NetworkEnds& ends) {
    Blueprint blueprint;
    blueprint.input_features = ends.input_features;
    blueprint.output_features = ends.output_features;
    blueprint.input_shape = ends.input_shape;
    blueprint.grid = ends.grid ? *ends.grid : one_cell(layers.size() - 1);
    blueprint.mode = ends.mode.value_or(NetworkMode::chain);
    const auto slots = static_cast<std::size_t>(blueprint.grid.slots());
    if (layers.size() - 1 > slots)
        json_read::fail("network.grid", "has " + std::to_string(slots) + " slots",
                        "the builder makes " + std::to_string(layers.size() - 1) + " layers",
                        "make it larger");
    blueprint.head = std::move(layers.back());
    blueprint.head.infer_output(ends.output_features);
    layers.pop_back();
    blueprint.slots.resize(slots);
    for (std::size_t i = 0; i < layers.size(); ++i)
        blueprint.slots[i] = Slot{.layer = std::move(layers[i])};
    return blueprint;
}

template <class Settings>
Blueprint built(const Settings& settings, const NetworkEnds& ends) {
    return placed(layers_of(settings, ends), ends);
}

Blueprint built(const RandomNetwork& settings, const NetworkEnds& ends) {
    RandomStream rng(random_key(static_cast<std::uint64_t>(settings.seed), "network/random"), 0);
    return draw_network(rng, settings, ends);
}

}  // namespace

Blueprint build(const Builder& builder, const NetworkEnds& ends) {
    Blueprint blueprint =
        std::visit([&](const auto& settings) { return built(settings, ends); }, builder);
    try {
        return Network(std::move(blueprint)).blueprint();
    } catch (const ShapeError& error) {
        throw ConfigError("network.build cannot be used here (" + std::string(error.what()) +
                          ") change its settings");
    }
}

}  // namespace cambrian
