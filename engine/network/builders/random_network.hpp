#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/network/blueprint.hpp"

namespace cambrian {

/// What a network that is built joins, and where its layers may lie.
struct NetworkEnds {
    std::int64_t input_features = 0;
    std::int64_t output_features = 0;
    Shape input_shape{};  ///< As of a blueprint; empty: a vector, or for the builder to choose.
    bool time = true;     ///< Whether there are steps in time, so that a state means something.
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

    static constexpr auto fields = std::tuple{
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

}  // namespace cambrian
