#include "cambrian/engine/graph/gradient/scan_segments.hpp"

#include <utility>

#include "cambrian/engine/graph/builders/arithmetic.hpp"
#include "cambrian/engine/graph/builders/movement.hpp"
#include "cambrian/engine/graph/builders/scan.hpp"
#include "cambrian/engine/graph/graph_copy.hpp"

namespace cambrian {
namespace {

bool has_cuts(const ScanAttribute& scan) {
    return scan.truncate > 0 && scan.truncate < scan.length;
}

bool has_segments(const ScanAttribute& scan) {
    return scan.checkpoint_every > 0 && scan.checkpoint_every < scan.length;
}

/// Operands of a scan by their roles.
struct Roles {
    explicit Roles(const ScanParts& parts)
        : carries(std::span(parts.operands).first(static_cast<std::size_t>(parts.scan.carries))),
          sequences(std::span(parts.operands)
                        .subspan(carries.size(), static_cast<std::size_t>(parts.scan.sequences))),
          invariants(std::span(parts.operands).subspan(carries.size() + sequences.size())) {}
    std::span<const Var> carries;
    std::span<const Var> sequences;
    std::span<const Var> invariants;
};

ScanResult append(Graph body, const ScanAttribute& like, std::span<const Var> carries,
                  std::span<const Var> sequences, std::span<const Var> invariants,
                  std::int64_t length) {
    // These scans are of the gradient: the names are those of the scan that it belongs to.
    body.forget_captures();
    return scan(std::move(body), carries, sequences, invariants,
                {.length = length, .reverse = like.reverse, .alive_carry = like.alive_carry});
}

Var declare(Graph& body, Var value, const Shape& shape) {
    return body.input("", value.info().type, shape);
}

Shape with_leading(std::initializer_list<std::int64_t> leading, const Shape& shape,
                   std::size_t dropped) {
    std::vector<std::int64_t> extents(leading);
    const auto rest = shape.extents().subspan(dropped);
    extents.insert(extents.end(), rest.begin(), rest.end());
    return Shape(std::span<const std::int64_t>(extents));
}

/// True at the positions of steps k, 2k, .. in the order they are walked.
Tensor cut_positions(const ScanAttribute& scan) {
    Tensor cuts(ValueType::boolean, Shape{scan.length});
    for (std::int64_t step = scan.truncate; step < scan.length; step += scan.truncate)
        cuts.elements[static_cast<std::size_t>(scan.reverse ? scan.length - 1 - step : step)] = 1.0;
    return cuts;
}

std::vector<Var> all_results(const ScanResult& result) {
    std::vector<Var> results = result.carries;
    results.insert(results.end(), result.stacked.begin(), result.stacked.end());
    return results;
}

/// A scan of `steps` steps as the body of a scan over segments.
Graph segment_body(const ScanParts& parts, std::int64_t steps) {
    const Roles roles(parts);
    Graph body;
    std::vector<Var> carries;
    std::vector<Var> sequences;
    std::vector<Var> invariants;
    for (const Var value : roles.carries) carries.push_back(declare(body, value, value.shape()));
    for (const Var value : roles.sequences)
        sequences.push_back(declare(body, value, with_leading({steps}, value.shape(), 1)));
    for (const Var value : roles.invariants)
        invariants.push_back(declare(body, value, value.shape()));
    const ScanResult result =
        append(*parts.scan.body, parts.scan, carries, sequences, invariants, steps);
    for (const Var value : all_results(result)) body.output(value);
    return body;
}

}  // namespace

bool has_gradient_steps(const ScanAttribute& scan) {
    return has_cuts(scan) || has_segments(scan);
}

ScanParts with_cuts(ScanParts parts) {
    if (!has_cuts(parts.scan)) return parts;
    const Graph& source = *parts.scan.body;
    const auto carries = static_cast<std::size_t>(parts.scan.carries);
    const std::size_t sequences_end = carries + static_cast<std::size_t>(parts.scan.sequences);
    Graph body;
    std::vector<Var> inputs;
    for (std::size_t i = 0; i < source.inputs().size(); ++i) {
        const ValueInfo& info = source.value(source.inputs()[i]);
        if (i == sequences_end) break;
        inputs.push_back(body.input("", info.type, info.shape));
    }
    const Var cut = body.input("cut", ValueType::boolean, {});
    for (std::size_t i = sequences_end; i < source.inputs().size(); ++i) {
        const ValueInfo& info = source.value(source.inputs()[i]);
        inputs.push_back(body.input("", info.type, info.shape));
    }
    for (std::size_t i = 0; i < carries; ++i)
        if (inputs[i].info().type == ValueType::real)
            inputs[i] = select(cut, stop_gradient(inputs[i]), inputs[i]);
    for (const Var value : inline_graph(body, source, inputs)) body.output(value);

    Graph& graph = *parts.operands.front().graph;
    parts.operands.insert(parts.operands.begin() + static_cast<std::ptrdiff_t>(sequences_end),
                          graph.constant(cut_positions(parts.scan)));
    parts.scan.body = std::make_shared<const Graph>(std::move(body));
    ++parts.scan.sequences;
    parts.scan.truncate = 0;
    return parts;
}

std::vector<Var> in_segments(const ScanParts& parts) {
    const ScanAttribute& whole = parts.scan;
    const Roles roles(parts);
    if (!has_segments(whole))
        return all_results(append(*whole.body, whole, roles.carries, roles.sequences,
                                  roles.invariants, whole.length));
    const std::int64_t steps = whole.checkpoint_every;
    const std::int64_t segments = whole.length / steps;
    const std::int64_t left = whole.length - segments * steps;
    // A scan in reverse walks its last positions first, and leaves its first ones.
    const std::int64_t first = whole.reverse ? left : 0;
    const std::int64_t first_left = whole.reverse ? 0 : segments * steps;

    std::vector<Var> cut;
    std::vector<Var> rest;
    for (const Var value : roles.sequences) {
        cut.push_back(reshape(slice(value, 0, first, segments * steps),
                              with_leading({segments, steps}, value.shape(), 1)));
        rest.push_back(slice(value, 0, first_left, left));
    }
    const ScanResult walked =
        append(segment_body(parts, steps), whole, roles.carries, cut, roles.invariants, segments);
    ScanResult result = walked;
    for (Var& value : result.stacked)
        value = reshape(value, with_leading({segments * steps}, value.shape(), 2));
    if (left > 0) {
        const ScanResult tail =
            append(*whole.body, whole, walked.carries, rest, roles.invariants, left);
        result.carries = tail.carries;
        for (std::size_t i = 0; i < tail.stacked.size(); ++i) {
            std::array parts_of_result{result.stacked[i], tail.stacked[i]};
            if (whole.reverse) std::swap(parts_of_result[0], parts_of_result[1]);
            result.stacked[i] = concat(parts_of_result, 0);
        }
    }
    return all_results(result);
}

}  // namespace cambrian
