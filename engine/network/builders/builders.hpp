#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/network/blueprint.hpp"

// Blueprints of well-known forms from a few settings. All shapes follow from what the network
// joins.
namespace cambrian {

/// What a network that is built joins, and where its layers may lie.
struct NetworkEnds {
    std::int64_t input_features = 0;
    std::int64_t output_features = 0;
    Shape input_shape{};     ///< As of a blueprint; empty: a vector, or for the builder to choose.
    bool time = true;        ///< Whether there are steps in time, so that a state means something.
    std::int64_t steps = 0;  ///< Of the longest sequence, where that is known.
    std::optional<GridSize> grid{};     ///< None: for the builder to choose.
    std::optional<NetworkMode> mode{};  ///< None: for the builder to choose.
};

/// Anything that can be built: all layer types, in containers, of any row, with links, disabled
/// slots, in a grid of any form. For tests, and as a start for evolution that knows nothing.
struct RandomNetwork {
    static constexpr std::string_view name = "random";

    std::int64_t seed = 1;        ///< Equal settings between equal ends give equal networks.
    std::int64_t max_layers = 8;  ///< In slots; at least one is drawn.
    std::int64_t max_links = 4;
    std::int64_t max_elements = 64;          ///< Of a row between layers.
    std::int64_t max_weights = 16384;        ///< Of one layer or link.
    std::int64_t nesting = 3;                ///< Levels of layers in layers.
    std::int64_t vocabulary = 0;             ///< The input holds ids below it; 0: numbers.
    std::vector<std::string> layer_types{};  ///< Those that slots are drawn from; empty: all.

    static constexpr auto fields = FieldTable{
        Field{"seed", &RandomNetwork::seed},
        Field{"most_layers", &RandomNetwork::max_layers},
        Field{"most_links", &RandomNetwork::max_links},
        Field{"most_elements", &RandomNetwork::max_elements},
        Field{"most_weights", &RandomNetwork::max_weights},
        Field{"nesting", &RandomNetwork::nesting},
        Field{"vocabulary", &RandomNetwork::vocabulary},
        Field{"layer_types", &RandomNetwork::layer_types},
    };
    bool operator==(const RandomNetwork&) const = default;
};

/// A network from the draws of a stream; `seed` is not read. Input shape, grid, mode, layers,
/// activations, scalars and links are drawn where the ends leave them open. Throws ConfigError
/// naming a key below "network" when the settings cannot be used there.
[[nodiscard]] Blueprint draw_network(RandomStream& rng, const RandomNetwork& settings,
                                     const NetworkEnds& ends);

/// Dense layers one after another, with what stands between them.
///
///     x → dense → [norm] → dense → dropout → .. → [norm] → dense
///
/// A norm stands before every dense layer but the first, dropout after every hidden one. With
/// `residual` a hidden layer that is as wide as what enters it adds it: x +
/// dropout(dense(norm(x))).
struct DenseStack {
    static constexpr std::string_view name = "dense_stack";

    std::vector<std::int64_t> widths{32, 32};  ///< Of hidden layers; the head follows.
    Activation activation = Activation::relu;
    std::string norm = "none";  ///< Or rms_norm, layer_norm, batch_norm.
    bool residual = false;
    float dropout = 0.0F;  ///< Rate; 0: none.

    static constexpr auto fields = FieldTable{
        Field{"widths", &DenseStack::widths},   Field{"activation", &DenseStack::activation},
        Field{"norm", &DenseStack::norm},       Field{"residual", &DenseStack::residual},
        Field{"dropout", &DenseStack::dropout},
    };
    bool operator==(const DenseStack&) const = default;
};

/// Stages of convolution, batch norm and pooling over an input [C, H, W], then dense layers.
///
///     stage: conv2d(same extents, activation) → [batch_norm] → [pool]
///
/// LeCun et al., "Gradient-Based Learning Applied to Document Recognition", 1998.
struct Convolutional {
    static constexpr std::string_view name = "convolutional";

    std::vector<std::int64_t> channels{16, 32};  ///< Of a stage each.
    std::int64_t kernel = 3;                     ///< Odd.
    Activation activation = Activation::relu;
    bool batch_norm = false;
    std::string pool = "max";            ///< Or average, none.
    std::int64_t pool_size = 2;          ///< Extent of a window and step to the next.
    std::vector<std::int64_t> widths{};  ///< Of hidden dense layers after the stages.
    float dropout = 0.0F;                ///< Rate before each dense layer; 0: none.

    static constexpr auto fields = FieldTable{
        Field{"channels", &Convolutional::channels},
        Field{"kernel", &Convolutional::kernel},
        Field{"activation", &Convolutional::activation},
        Field{"batch_norm", &Convolutional::batch_norm},
        Field{"pool", &Convolutional::pool},
        Field{"pool_size", &Convolutional::pool_size},
        Field{"widths", &Convolutional::widths},
        Field{"dropout", &Convolutional::dropout},
    };
    bool operator==(const Convolutional&) const = default;
};

/// Blocks of attention and gates, each added to what enters it after a norm, and a last norm.
///
///     x += attention(norm(x)); x += swiglu(norm(x))
///
/// Rows [f] are positions in time for causal attention; without causality a row is a whole sequence
/// [positions, f], or one of ids where there is a vocabulary. Vaswani et al., "Attention Is All You
/// Need", 2017; Xiong et al., "On Layer Normalization in the Transformer Architecture", 2020.
struct Transformer {
    static constexpr std::string_view name = "transformer";

    std::int64_t blocks = 2;
    std::int64_t features = 32;
    std::int64_t heads = 4;
    std::int64_t kv_heads = 0;  ///< 0: as many as heads.
    std::int64_t hidden = 0;    ///< Of swiglu; 0: twice the features.
    bool causal = true;
    float rope_base = 0.0F;  ///< 0: positions are not told.
    /// Positions that causal attention sees; 0: 128, or all of a longer sequence that is data.
    std::int64_t window = 0;
    std::int64_t vocabulary = 0;    ///< The input holds ids below it; 0: it holds features.
    std::string norm = "rms_norm";  ///< Or layer_norm.
    float dropout = 0.0F;           ///< Rate after attention and swiglu; 0: none.

    static constexpr auto fields = FieldTable{
        Field{"blocks", &Transformer::blocks},         Field{"features", &Transformer::features},
        Field{"heads", &Transformer::heads},           Field{"kv_heads", &Transformer::kv_heads},
        Field{"hidden", &Transformer::hidden},         Field{"causal", &Transformer::causal},
        Field{"rope_base", &Transformer::rope_base},   Field{"window", &Transformer::window},
        Field{"vocabulary", &Transformer::vocabulary}, Field{"norm", &Transformer::norm},
        Field{"dropout", &Transformer::dropout},
    };
    bool operator==(const Transformer&) const = default;
};

/// Any builder; the only list of them.
using Builder = std::variant<DenseStack, Convolutional, Transformer, RandomNetwork>;

/// Names of all builders, in the order of the list.
[[nodiscard]] std::span<const std::string_view> builder_types();
[[nodiscard]] std::string_view name(const Builder& builder);
/// {"type": "dense_stack", "widths": [..], ..}: every field.
[[nodiscard]] nlohmann::ordered_json to_json(const Builder& builder);
/// What the schema of configs says of each type: "x-variants".
[[nodiscard]] nlohmann::ordered_json builder_schema();
/// Strict, as layers are read; keys left out keep their defaults. Throws ConfigError.
[[nodiscard]] Builder builder_from_json(const nlohmann::json& json, std::string_view path);

/// The network between those ends, every width resolved. Throws ConfigError naming a key below
/// "network" when the settings cannot be used there.
[[nodiscard]] Blueprint build(const Builder& builder, const NetworkEnds& ends);

}  // namespace cambrian
