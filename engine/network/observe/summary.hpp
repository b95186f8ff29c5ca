#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cambrian/engine/network/network.hpp"

// What a network is made of, counted from what its layers say of themselves.
namespace cambrian {

/// How much of everything there is.
struct ElementCounts {
    std::int64_t parameters = 0;  ///< Weights that are trained and mutated.
    std::int64_t buffers = 0;     ///< Running statistics.
    std::int64_t state = 0;       ///< Carried from step to step, of one row of a batch.

    /// Of parameters and buffers as a genome holds them, in float32.
    [[nodiscard]] std::int64_t bytes() const { return 4 * (parameters + buffers); }
    ElementCounts& operator+=(const ElementCounts& other);
    bool operator==(const ElementCounts&) const = default;
};

/// A slot, the head, or a layer in one of them.
struct LayerSummary {
    /// "slot 3 [0 0 1 1]" with z, y, x and l, "head", or in a container "layers.0", "gate".
    std::string place;
    int slot = 0;  ///< Also of what is in it; slots() for the head.
    std::string type;
    std::vector<Activation> activations;  ///< Depth first.
    bool enabled = true;
    /// Of a layer in another: those of that one. Weights in float32 where no format holds any.
    LayerFormats formats{};
    std::int64_t stored_bytes = 0;  ///< Of parameters and buffers in these formats.
    Shape input;                    ///< Of a row.
    Shape output;
    ElementCounts counts;  ///< With those of the layers in it.
    std::vector<LayerSummary> inner;
};

struct LinkSummary {
    Link link;
    ElementCounts counts;
    std::int64_t stored_bytes = 0;  ///< In the format of the layer that it enters.
};

struct NetworkSummary {
    GridSize grid;
    std::vector<LayerSummary> layers;  ///< Filled slots in their order, then the head.
    std::vector<LinkSummary> links;
    ElementCounts total;
    std::int64_t stored_bytes = 0;
    std::int64_t products = 0;  ///< See products().
};

[[nodiscard]] NetworkSummary summary(const Network& network);

/// Multiplications of the products of one evaluation: of matrices, kernels, keys and values with
/// one row (a sequence of one step), and one for each enabled connection between neurons that an
/// output depends on. What is disabled costs nothing; functions, and elements that multiply one by
/// one (gates, gains, the filter and the scan of mamba), do not count.
/// @param row shape of a row that enters the layer.
[[nodiscard]] std::int64_t products(const AnyLayer& layer, const Shape& row);
/// The same of a whole network, with the projections of its links.
[[nodiscard]] std::int64_t products(const Network& network);
/// {"layers": [{"place", "slot", "type", .., "inner": [..]}], "links": [..], "total": {..}}
[[nodiscard]] nlohmann::ordered_json to_json(const NetworkSummary& network);

/// "slot 3 [0 0 1 1]", or "head" for slot = slots().
[[nodiscard]] std::string place_name(const GridSize& grid, int slot);

}  // namespace cambrian
