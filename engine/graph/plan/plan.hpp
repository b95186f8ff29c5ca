#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cambrian/engine/graph/graph.hpp"

namespace cambrian {

/// Where a value lives at run time, in elements of the backend's word.
///
/// What an executor does with a plan, node by node in order:
/// - a node whose results are all `unused` or `alias` is skipped; every other node is run and
/// writes each
///   of its results where the result is placed (results of a scan that is run are never `unused`);
/// - after the last node, output position o is finished already when its value, or the one that is
///   an alias of, is `Kind::output` with index o; in every other case (an input, a constant, a part
///   of a value, a repeated output) the executor copies the value from where it is placed to the
///   binding of o, first to the outputs that replace no input and then to those that do. Such
///   values stay alive to the end.
/// The binding of an output that replaces an input may be the input's own: the planner writes there
/// directly only when nothing reads the old content any more, or only the writing node does,
/// element by element. A kernel of an elementwise op, of put_row or of a fusion group without
/// reductions thus may find its result exactly where an operand of as many elements lies.
struct Placement {
    enum class Kind : std::uint8_t {
        unused,  ///< Nothing needs it.
        input,   ///< Bound by the caller: `index` is the input's position.
        output,  ///< Bound by the caller: `index` is the output position it fills. Later nodes may
                 ///< read it there.
        constant,  ///< Owned by the program.
        arena,     ///< `offset` in the arena: per-individual values in units of one individual's
                   ///< elements.
        alias,     ///< Shares the elements of value `base`, which is no alias itself, starting
                   ///< `offset` elements into each individual's part: stop_gradient, reshape, a
                   ///< permutation or broadcast that keeps the order of the elements, a cast to the
                   ///< same type, a slice with only axes of extent 1 before its axis. Of inputs,
                   ///< constants and outputs too.
    };
    Kind kind = Kind::unused;
    std::uint32_t index = 0;
    ValueId base{};
    std::int64_t offset = 0;
    bool operator==(const Placement&) const = default;
};

/// Liveness plan of one graph: per-individual temporaries share one arena whose size is known
/// before anything is allocated. Offsets of per-individual values are multiplied by the number of
/// individuals of a block at run time; shared values live in a second arena with plain offsets,
/// each a multiple of `shared_alignment`. The bodies of scans have plans of their own.
struct Plan {
    static constexpr std::int64_t shared_alignment = 16;
    std::vector<Placement> values;             ///< One for each value of the graph.
    std::int64_t per_individual_elements = 0;  ///< Arena elements per individual of a block.
    std::int64_t shared_elements = 0;  ///< Arena elements for values that all individuals share.
};

/// Best-fit interval allocation over the node order; operands that die at a node are released after
/// its results are placed, so a result never overlaps an operand of its own node in the arena.
/// Contract: no input that is replaced replaces one (separate_updates).
[[nodiscard]] Plan plan(const Graph& graph);
/// Elements of all values that a graph and its scan bodies compute for an individual, views left
/// out: more than it ever needs at once, in whatever order and places.
[[nodiscard]] std::int64_t computed_elements(const Graph& graph);
/// The same placement with no two values sharing elements: what `plan` is tested against.
[[nodiscard]] Plan plan_without_reuse(const Graph& graph);
/// Readable listing of the plan of a graph and of its scan bodies: place, bytes (of one individual
/// where each has its own) and lifetime of every value.
[[nodiscard]] std::string dump_plan(const Graph& graph);
/// Describes the first pair of values that are alive together and overlap, or the first input that
/// is replaced while it is still read, or nothing when the plan is sound.
[[nodiscard]] std::optional<std::string> find_overlap(const Graph& graph, const Plan& plan);

}  // namespace cambrian
