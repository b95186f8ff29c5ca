#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "cambrian/engine/graph/graph.hpp"

namespace cambrian {

/// The same graph with the named inputs (by position) given a batch axis, which spreads by
/// each op's batch rule, through scan bodies to a fixed point. Operands that all individuals share
/// stay shared. There is no op over the population, so individuals cannot meet: batch independence
/// holds by construction.
[[nodiscard]] Graph vmap(const Graph& graph, std::span<const std::size_t> per_individual_inputs);

/// With data errors in the bodies of scans that may stop early (alive_carry) left to individuals
/// that are alive: what an op checks is replaced by something harmless for the others, as the block
/// that they share goes on. So an error never depends on who shares the block. Also in inner scans.
[[nodiscard]] Graph guard_finished(const Graph& graph);
/// The same of one such body alone, which then may run beyond its end.
[[nodiscard]] Graph guard_body(const Graph& body, int alive_carry);

/// Computes a node in f32 from the elements of its operands, in the bits of every backend, into
/// results that have their sizes. False where it cannot, such as for a data error. The graph knows
/// no backend: engine/reference has one.
using EvaluateNode = std::function<bool(const Graph& graph, const Node& node,
                                        std::span<const std::vector<double>* const> operands,
                                        std::span<std::vector<double>> results)>;

/// With nodes of known operands replaced by what they compute, and with nodes that algebra makes
/// superfluous left out (a product with 1, a reshape of a reshape, a select by a known condition,
/// an explicit broadcast where the op broadcasts itself). Not a bit changes: only ops that are
/// exact in any math are folded, and only into at most 4096 elements; what would be a data error is
/// left to the run. Also inside scan bodies.
[[nodiscard]] Graph fold_constants(const Graph& graph, const EvaluateNode& evaluate);

/// With nodes that compute the same (op, attributes, operands; constants by their bits) merged into
/// the first of them. Random numbers are a function of key and id, so equal draws are one. Also
/// inside scan bodies.
[[nodiscard]] Graph eliminate_common_subexpressions(const Graph& graph);

/// With nodes of scan bodies that every step would compute anew from invariants moved in front of
/// the scan. Views and numbers stay where they are read, and so do the numbers that codes of a body
/// stand for where they are 4,096 and more, which would take room before it; ops that report data
/// errors stay in the body of a scan that may take no step (alive_carry).
[[nodiscard]] Graph hoist_invariants(const Graph& graph);

/// Without nodes that no output needs. Inputs stay, in order. Also inside scan bodies.
[[nodiscard]] Graph eliminate_dead_code(const Graph& graph);

/// Whether a graph, or the body of a scan in it, holds a fused op for which `has_kernel` is false.
[[nodiscard]] bool needs_lowering(const Graph& graph, const std::function<bool(Op)>& has_kernel);

/// With every fused op for which `has_kernel` is false replaced by its lowering, also in scan
/// bodies.
[[nodiscard]] Graph lower(const Graph& graph, const std::function<bool(Op)>& has_kernel);

/// With every matmul and packed_matmul whose only use is a bias [n] added to it, or an activation
/// by code, as one `matmul_epilogue`, also in scan bodies. Only for backends that ask for it: the
/// GPU.
[[nodiscard]] Graph fuse_matmul_epilogue(const Graph& graph);

/// For backends that multiply codes, which the GPU does: with every matmul and matmul_epilogue of
/// two values that one format is decoded to as one `matmul_epilogue` of the codes, where
/// `multiplies` is true for the format, also in scan bodies; the result as codes where nothing but
/// an encode in that format reads it.
[[nodiscard]] Graph fuse_formats(const Graph& graph,
                                 const std::function<bool(NumberFormat)>& multiplies);

/// The way back where `multiplies` is false: decoded operands, an encoded result.
[[nodiscard]] Graph split_formats(const Graph& graph,
                                  const std::function<bool(NumberFormat)>& multiplies);

/// With every product of rows with an unpacked matrix (matmul, its right operand transposed) as one
/// `packed_matmul`, and rows gathered from an unpacked table gathered as codes: no value holds the
/// numbers of the matrix. Also in scan bodies, and of matrices that enter a scan and are read so in
/// its steps: these take the codes.
[[nodiscard]] Graph fuse_packed(const Graph& graph);

struct FusionRules {
    bool reductions = false;  ///< Also reduce_sum and reduce_max along the last axis.
    std::size_t max_nodes = 64;
    std::size_t max_operands = 6;
    std::int64_t longest_row = 65536;  ///< Longer ones are left to reductions of many workgroups.
    /// Chains whose largest value has fewer (of one individual) stay as they are.
    std::int64_t min_elements = 0;
};

/// With connected elementwise nodes as one `fusion group`: a node joins when all its users are in
/// the fusion group, so nothing is computed twice and only the fusion group's result is stored. A
/// body holds elementwise nodes, numbers, broadcasts, reshapes that add or drop leading axes of
/// extent 1, and, where the rules allow it, reductions of the fusion group's rows that keep their
/// axis; every value of it has one element for each of the result's, one for each row, or one at
/// all. A shared value joins no chain of every individual, numbers excepted. Single nodes stay as
/// they are. Also in scan bodies. The values do not change.
[[nodiscard]] Graph fuse_elementwise(const Graph& graph, const FusionRules& rules);
/// Whether any value is large enough for a fusion group, also in scan bodies.
[[nodiscard]] bool may_hold_fusion_groups(const Graph& graph, const FusionRules& rules);

/// With a copy of every input that replaces one and is replaced itself (a swap): no order of copies
/// at the end would do.
[[nodiscard]] Graph separate_updates(const Graph& graph);

/// The same nodes in the order that needs the smaller arena: at every step the node that frees most
/// beyond what it needs (ties: the one that came first), unless the order as it was needs no more.
/// New contents of inputs wait for the readers of the old ones, where they can. Also inside scan
/// bodies.
[[nodiscard]] Graph schedule(const Graph& graph);

/// With cheap values (elementwise, fusion groups, movement) that are kept over the node where most
/// memory is in use computed anew for their late readers instead, largest first, as long as each
/// lowers the plan's peak and the arena of one individual is above that many bytes. The same nodes
/// of the same operands: not a bit changes.
[[nodiscard]] Graph rematerialize(const Graph& graph, std::int64_t max_bytes_per_individual);

/// What a backend wants of its graphs.
struct OptimizeOptions {
    /// Fused ops for which it is false are replaced by their lowering.
    std::function<bool(Op)> has_kernel = {};
    EvaluateNode evaluate = {};         ///< Unset: nothing is folded.
    bool fuse_matmul_epilogue = false;  ///< For a backend with a kernel of it.
    /// Formats whose codes a kernel of `matmul_epilogue` multiplies as they are; unset: none.
    std::function<bool(NumberFormat)> multiplies_codes = {};
    std::optional<FusionRules> groups = {};  ///< None: no fusion groups.
    /// Bytes of temporaries of one individual above which cheap ones are computed again; 0: never.
    std::int64_t max_bytes_per_individual = 0;
};

/// The passes of every backend in their order: fold, merge what is equal, hoist, remove what is
/// dead, lower (and the first ones again), fuse, compute again, schedule. The result is verified;
/// inputs and outputs stay as they are, in number, order, type, shape and batch axis.
[[nodiscard]] Graph optimize(const Graph& graph, const OptimizeOptions& options);

/// A node that is about to be appended to a graph.
struct IdentitySite {
    Graph& graph;
    const Node& node;         ///< Op, attributes and place; its operands are those of the source.
    const ValueInfo& result;  ///< Of the node's only result.
    std::span<const Var> operands;  ///< In `graph`.
};

/// A value of the graph that has every bit of the node's result (any NaN counts as any other),
/// found or made from simpler nodes, or nothing. It has the result's type, shape and batch axis.
[[nodiscard]] std::optional<Var> simpler_value(const IdentitySite& site);

/// The number that every element of a value is, where that shows: a constant of one element, or a
/// broadcast of one.
[[nodiscard]] std::optional<double> uniform_number(Var value);

}  // namespace cambrian
