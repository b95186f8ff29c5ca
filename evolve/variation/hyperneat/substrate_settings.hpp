#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "cambrian/engine/core/json/field.hpp"
#include "cambrian/engine/layers/support/neuron_functions.hpp"
#include "cambrian/evolve/variation/neat/neat_settings.hpp"

namespace cambrian::evolve {

/// Which nodes a substrate has. layers: those of the config (HyperNEAT). evolved: inputs and
/// outputs are those of the config, hidden nodes and connections stand where the pattern of the
/// CPPN has information (ES-HyperNEAT).
enum class SubstrateType : std::uint8_t { layers, evolved };
inline constexpr std::array<std::string_view, 2> substrate_type_names{"layers", "evolved"};
[[nodiscard]] constexpr std::span<const std::string_view> choice_names(SubstrateType) {
    return substrate_type_names;
}

/// Which layers of a substrate the nodes of one may send to.
enum class SubstrateLinks : std::uint8_t { next, later };
inline constexpr std::array<std::string_view, 2> substrate_links_names{"next", "later"};
[[nodiscard]] constexpr std::span<const std::string_view> choice_names(SubstrateLinks) {
    return substrate_links_names;
}

enum class SubstrateAxis : std::uint8_t { x, y, z };
inline constexpr std::array<std::string_view, 3> substrate_axis_names{"x", "y", "z"};
[[nodiscard]] constexpr std::span<const std::string_view> choice_names(SubstrateAxis) {
    return substrate_axis_names;
}

/// Where the nodes of one layer of a substrate are: at coordinates, or evenly spaced in a box.
struct SubstrateLayer {
    std::vector<std::vector<double>> nodes{};
    std::vector<std::int64_t> shape{};
    std::vector<double> from{};
    std::vector<double> to{};

    static constexpr FieldRange coordinates{-1e3, 1e3};
    static constexpr auto fields = FieldTable{
        Field{"nodes", &SubstrateLayer::nodes, coordinates,
              "The coordinates of each node, in its order, such as [[-1, 0], [1, 0]]; in place of "
              "shape, from and to."},
        Field{"shape", &SubstrateLayer::shape, FieldRange{1.0, 65536.0},
              "Nodes along each axis, evenly spaced, the first axis running fastest. Inputs and "
              "outputs without nodes and shape: a line along x."},
        Field{"from", &SubstrateLayer::from, coordinates,
              "A corner of the box that they fill. None: -1 along each axis but the last, where a "
              "layer has one place: inputs -1, outputs 1, hidden layers evenly between them."},
        Field{"to", &SubstrateLayer::to, coordinates,
              "The opposite corner. None: 1 along each axis but the last."},
    };
    bool operator==(const SubstrateLayer&) const = default;
};

/// How ES-HyperNEAT finds hidden nodes: a square of side 2 around the origin is divided in four,
/// and these again, by how much the weights of connections to their centres vary.
struct SubstrateSearch {
    std::int64_t initial_depth = 3;
    std::int64_t maximum_depth = 3;
    double division_threshold = 0.03;
    double variance_threshold = 0.03;
    double band_threshold = 0.3;
    std::int64_t iteration_level = 1;
    std::int64_t maximum_nodes = 256;
    std::int64_t maximum_connections = 16384;

    static constexpr std::int64_t deepest = 7;
    static constexpr auto fields = FieldTable{
        Field{"initial_depth", &SubstrateSearch::initial_depth, FieldRange{1.0, double{deepest}},
              "Divisions that are always made: 3 looks at 8 x 8 places."},
        Field{"maximum_depth", &SubstrateSearch::maximum_depth, FieldRange{1.0, double{deepest}},
              "Divisions at most."},
        Field{"division_threshold", &SubstrateSearch::division_threshold, not_negative,
              "A square is divided further where the variance of its four parts is above it. "
              "Weights are in [-1, 1] here."},
        Field{"variance_threshold", &SubstrateSearch::variance_threshold, not_negative,
              "Squares with a smaller variance become one connection, others are looked into."},
        Field{"band_threshold", &SubstrateSearch::band_threshold, not_negative,
              "A connection is made where the weight differs by more from that on both sides, left "
              "and right or above and below."},
        Field{"iteration_level", &SubstrateSearch::iteration_level, FieldRange{0.0, 64.0},
              "How often hidden nodes found last are searched from in turn."},
        Field{"maximum_nodes", &SubstrateSearch::maximum_nodes, FieldRange{1.0, 65536.0},
              "Hidden nodes at most; those found later are left out with their connections."},
        Field{"maximum_connections", &SubstrateSearch::maximum_connections,
              FieldRange{1.0, 1048576.0}, "At most; those found later are left out."},
    };
    bool operator==(const SubstrateSearch&) const = default;
};

/// The network that a CPPN draws, and how it reads the CPPN.
struct SubstrateSettings {
    SubstrateType type = SubstrateType::layers;
    std::int64_t dimensions = 2;
    SubstrateLayer inputs{};
    std::vector<SubstrateLayer> hidden{};
    SubstrateLayer outputs{};
    SubstrateLinks links = SubstrateLinks::next;
    SubstrateSearch search{};
    bool recurrent = false;
    double maximum_weight = 3.0;
    double weight_threshold = 0.2;
    bool link_expression = false;
    std::vector<SubstrateAxis> locality{};
    bool bias = false;
    bool distance = false;
    NeuronActivation hidden_activation = NeuronActivation::tanh;
    NeuronActivation output_activation = NeuronActivation::sigmoid;

    static constexpr auto fields = FieldTable{
        Field{"type", &SubstrateSettings::type,
              "layers: the nodes of the config (HyperNEAT). evolved: hidden nodes stand where the "
              "pattern of the CPPN has information (ES-HyperNEAT)."},
        Field{"dimensions", &SubstrateSettings::dimensions, FieldRange{2.0, 3.0},
              "Coordinates of a node; 2 where type is evolved."},
        Field{"inputs", &SubstrateSettings::inputs, "Where the inputs of the network are."},
        Field{"hidden", &SubstrateSettings::hidden, "Hidden layers, where type is layers."},
        Field{"outputs", &SubstrateSettings::outputs, "Where its outputs are."},
        Field{"links", &SubstrateSettings::links,
              "Where type is layers: nodes send to the next layer, or to every later one."},
        Field{"search", &SubstrateSettings::search, "Where type is evolved."},
        Field{"recurrent", &SubstrateSettings::recurrent,
              "In a task with time: hidden nodes of a layer send to all of it with a delay of one "
              "step; where type is evolved, so do connections that look back."},
        Field{"maximum_weight", &SubstrateSettings::maximum_weight,
              FieldRange{representable.min, 1e3},
              "The weight, or bias, that an output of 1 of the CPPN stands for."},
        Field{"weight_threshold", &SubstrateSettings::weight_threshold, below_one,
              "There is no connection where the output for weights is not above it, and what "
              "exceeds it is scaled. Nothing where link_expression is true."},
        Field{"link_expression", &SubstrateSettings::link_expression,
              "The CPPN has an output more (LEO): there is a connection where it is above 0."},
        Field{"locality", &SubstrateSettings::locality,
              "Axes along which founders prefer short connections: the output of link_expression "
              "reads a bell of the difference along each, and nothing else."},
        Field{"bias", &SubstrateSettings::bias,
              "The CPPN has an output more: the bias of the node at its first coordinates."},
        Field{"distance", &SubstrateSettings::distance,
              "The CPPN has an input more: how far the two nodes are apart."},
        Field{"hidden_activation", &SubstrateSettings::hidden_activation, "Of hidden nodes."},
        Field{"output_activation", &SubstrateSettings::output_activation, "Of the outputs."},
    };
};

/// Keys of the section "genome" of type hyperneat beside "substrate": those of neat, for a CPPN.
struct CppnSettings : NeatSettings {
    CppnSettings() {
        using enum NeuronActivation;
        activations = {sin, gauss, tanh, abs, identity};
    }
};

}  // namespace cambrian::evolve
