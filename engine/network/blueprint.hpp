#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/layers/any_layer.hpp"
#include "cambrian/engine/weights/dtype.hpp"

namespace cambrian {

/// The formats that a layer is evaluated in. Its weights stay float32 in a genome; what computes
/// are the numbers that their codes stand for.
struct LayerFormats {
    Dtype weights = Dtype::float32;  ///< Of matrices and kernels, and of those of links into it.
    /// Of the rows that enter it, each scaled by itself; ids are left as they are.
    Dtype activations = Dtype::float32;
    /// Of the codes of weights: what their format may have. float32 keeps them for a format that a
    /// mutation chooses.
    Scales scales = Scales::format;
    /// Without scales that the format cannot have.
    [[nodiscard]] LayerFormats settled() const {
        const bool may_have = takes_scales(weights) || weights == Dtype::float32;
        return {weights, activations, may_have ? scales : Scales::format};
    }
    [[nodiscard]] bool is_plain() const { return *this == LayerFormats{}; }
    bool operator==(const LayerFormats&) const = default;
};

/// Where descriptions name them, of a network and beside the fields of a layer.
inline constexpr std::array<const char*, 3> format_keys{"dtype", "dtype_scales",
                                                        "activation_dtype"};

/// Extents of the volumetric grid. Slot index = ((z·rows + y)·cols + x)·layers_per_cell + l.
struct GridSize {
    int depth = 1;
    int rows = 1;
    int cols = 1;
    int layers_per_cell = 1;

    [[nodiscard]] int slots() const { return depth * rows * cols * layers_per_cell; }
    /// Checks every coordinate by itself; throws ShapeError.
    [[nodiscard]] int index(int z, int y, int x, int l) const;
    /// {z, y, x, l}
    [[nodiscard]] std::array<int, 4> coordinates(int index) const;
    bool operator==(const GridSize&) const = default;
};

/// Most slots of a grid: a file of a few bytes may ask for them.
inline constexpr int largest_grid = 1 << 16;
/// Throws ShapeError unless every extent is at least 1 and there are at most largest_grid slots.
void check(const GridSize& grid);
/// One cell with room for so many layers, at least 4.
[[nodiscard]] GridSize one_cell(std::size_t layers);

/// A layer in the grid. A disabled slot is the identity on the elements of a row, so only a slot
/// that gives as many as it takes may be disabled.
struct Slot {
    AnyLayer layer;
    bool enabled = true;
    /// In a mesh, whether it sees what the slot before it gave in the previous step. Without a
    /// clock it sees what that one gives now, so that it takes no step of its own.
    bool clocked = true;
    LayerFormats formats{};
    bool operator==(const Slot&) const = default;
};

enum class LinkKind : std::uint8_t {
    forward,   ///< Adds the source's output of this pass to the target's input.
    backward,  ///< Adds the source's output of the previous step; a state of the network.
};
inline constexpr std::array<std::string_view, 2> link_kind_names{"forward", "backward"};
[[nodiscard]] constexpr std::string_view name(LinkKind kind) {
    return link_kind_names[static_cast<std::size_t>(kind)];
}

/// Joins two ends. Rows are taken as vectors of their elements: scaled by a gain each where both
/// ends have as many, else projected by a matrix [target elements, source elements]; both are
/// evolved weights.
struct Link {
    int source = 0;  ///< Slot index, or input_port (forward links only).
    int target = 0;  ///< Slot index, or slots() for the output head.
    LinkKind kind = LinkKind::forward;
    bool operator==(const Link&) const = default;
};
inline constexpr int input_port = -1;

/// When a slot sees what the one before it gives.
enum class NetworkMode : std::uint8_t {
    chain,  ///< In the same step: the slots are the layers of a function.
    mesh,   ///< In the next step: all slots are clocked at once, each from what others gave before.
};

/// Everything about a network but its weights. Enabled slots chain in index order from the input
/// port to the head; empty slots do not exist for the chain. Port and head belong to the task.
struct Blueprint {
    std::int64_t input_features = 0;
    std::int64_t output_features = 0;
    /// How the first layer sees the input: input_features elements. Empty: as a vector.
    Shape input_shape;
    GridSize grid;
    std::vector<std::optional<Slot>> slots;  ///< grid.slots() of them.
    AnyLayer head;                           ///< Joins the last slot to output_features.
    NetworkMode mode = NetworkMode::chain;
    std::vector<Link> links;  ///< Sorted by (source, target, kind), no two equal.
    LayerFormats head_formats{};

    bool operator==(const Blueprint&) const = default;
};

/// The shape of a row that enters the chain.
[[nodiscard]] Shape input_row(const Blueprint& blueprint);

/// Builds the starting blueprint of a config: {"layers": [...], "grid": {...}, "links": [...]}.
/// The last layer is the head. A layer takes the slot after the one before it unless it carries
/// "at": [z, y, x, l]. A grid left out is one cell with room for at least 4 layers; widths left out
/// are inferred. A link is {"source": .., "target": .., "kind": "forward" | "backward"} (also
/// "from" and "to"), an end is a slot index, [z, y, x, l], "input" or "head". "input": [C, H, W]
/// shows the first layer the input as an image. "mode": "mesh" clocks all slots at once. A layer
/// with "enabled": false is skipped, one of a mesh with "clocked": false takes no step. {"build":
/// {"type": ..}} (builders.hpp) stands for layers and links. "dtype" and "activation_dtype" are the
/// formats of all layers that have none of their own, "dtype_scales" their scales. A key "initial"
/// is the caller's.
/// @param time whether the network is asked in steps, for builders that may choose a state.
/// @param steps of the longest sequence, where it is known, for those that choose how much they
/// see. Throws ConfigError or ShapeError naming key, slot, layer and both shapes.
[[nodiscard]] Blueprint blueprint_from_json(const nlohmann::json& network,
                                            std::int64_t input_features,
                                            std::int64_t output_features, bool time = true,
                                            std::int64_t steps = 0);
/// Where the layers of a section lie, one or more; the last one is the head, at grid.slots().
/// Throws ConfigError for one that has no slot.
[[nodiscard]] std::vector<int> slots_of_layers(const nlohmann::json& layers, const GridSize& grid);
/// The formats that format_keys of a network section name: of layers that have none of their own.
[[nodiscard]] LayerFormats network_formats(const nlohmann::json& network);
/// Gives them to all layers of a blueprint that have none.
void apply_formats(Blueprint& blueprint, const nlohmann::json& network);
/// What a network section says of all layers that say nothing themselves: "init" and "init_scale".
[[nodiscard]] ParameterRules network_rules(const nlohmann::json& network);
/// Gives it to a layer that has weights, where that says nothing of how they start.
void add_rules(AnyLayer& layer, const ParameterRules& rules);
/// Of a config that no task completes: it has an "input", and a head whose width is written.
[[nodiscard]] Blueprint blueprint_from_json(const nlohmann::json& network);
/// What both read back to the same blueprint.
[[nodiscard]] nlohmann::ordered_json network_section(const Blueprint& blueprint);
/// Everything, for reading: widths, grid, each filled slot with "at" and "enabled", head, links.
[[nodiscard]] nlohmann::ordered_json to_json(const Blueprint& blueprint);

}  // namespace cambrian
