#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cambrian/engine/graph/graph.hpp"

namespace cambrian {

/// Where a value lives at run time, in elements of the backend's word.
struct Placement {
    enum class Kind : std::uint8_t {
        unused,    ///< No reader and not an output.
        input,     ///< Bound by the caller: `index` is the input's position.
        output,    ///< Bound by the caller: `index` is the first output position it fills.
        constant,  ///< Owned by the program.
        arena,     ///< `offset` in the arena: per-individual values in units of one individual's
                   ///< elements.
        alias,     ///< Shares the elements of value `base`, starting `offset` elements into each
                   ///< individual's part (reshape, contiguous slices, stop_gradient).
    };
    Kind kind = Kind::unused;
    std::uint32_t index = 0;
    ValueId base{};
    std::int64_t offset = 0;
};

/// Liveness plan of one graph: per-individual temporaries share one arena whose size is known
/// before anything is allocated. Offsets of per-individual values are multiplied by the number of
/// individuals of a block at run time; shared values live in a second arena with plain offsets.
struct Plan {
    std::vector<Placement> values;             ///< One for each value of the graph.
    std::int64_t per_individual_elements = 0;  ///< Arena elements per individual of a block.
    std::int64_t shared_elements = 0;  ///< Arena elements for values that all individuals share.
};

/// Best-fit interval allocation over the node order; operands that die at a node are released after
/// its results are placed, so a result never overlaps an operand of its own node.
[[nodiscard]] Plan plan(const Graph& graph);
/// The same placement with no two values sharing elements: what `plan` is tested against.
[[nodiscard]] Plan plan_without_reuse(const Graph& graph);
/// Describes the first pair of values that are alive together and overlap, or nothing when the plan
/// is sound.
[[nodiscard]] std::optional<std::string> find_overlap(const Graph& graph, const Plan& plan);

}  // namespace cambrian
