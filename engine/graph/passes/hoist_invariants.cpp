#include <algorithm>

#include "cambrian/engine/graph/graph_copy.hpp"
#include "cambrian/engine/graph/graph_errors.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"
#include "cambrian/engine/graph/plan/liveness.hpp"

namespace cambrian {
namespace {

/// How a value of a body changes from step to step.
enum class Change : std::uint8_t {
    number,     ///< Made from constants alone.
    invariant,  ///< Made from operands that all steps share.
    varying,
};

/// A view, or a value that a kernel makes from less: it costs no time in the body and would cost
/// memory outside of it.
bool is_free(const Graph& graph, const Node& node) {
    return node.op == Op::broadcast || node.op == Op::iota || alias_of(graph, node).has_value();
}

bool decodes(const Node& node) {
    return node.op == Op::unpack;
}

/// Whether the codes of a body stand for so many numbers that all of them would take room before
/// the loop: then they, and what is made of them, stay where one piece comes after another. Fewer
/// would cost every step time.
bool decodes_many(const Graph& body) {
    constexpr std::int64_t many = 4096;
    std::int64_t numbers = 0;
    for (const Node& node : body.nodes())
        if (decodes(node)) numbers += body.value(ValueId{node.first_result}).shape.elements();
    return numbers >= many;
}

bool is_input(const Node& node) {
    return std::holds_alternative<InputAttribute>(node.attributes);
}

/// Which nodes of a body are computed before the loop.
std::vector<bool> hoisted_nodes(const ScanAttribute& scan) {
    const Graph& body = *scan.body;
    std::vector<Change> changes(body.value_count(), Change::varying);
    const auto first_invariant = static_cast<std::size_t>(scan.carries + scan.sequences);
    for (std::size_t i = first_invariant; i < body.inputs().size(); ++i)
        changes[static_cast<std::size_t>(body.inputs()[i])] = Change::invariant;
    const bool keeps_codes = decodes_many(body);
    std::vector<bool> hoisted(body.nodes().size(), false);
    for (std::size_t n = 0; n < body.nodes().size(); ++n) {
        const Node& node = body.nodes()[n];
        if (is_input(node)) continue;
        Change change = Change::number;
        for (const ValueId id : body.operands(node))
            change = std::max(change, changes[static_cast<std::size_t>(id)]);
        // A scan whose individuals are all done takes no step: then its body reports no data error.
        if (scan.alive_carry >= 0 && may_fail(body, node)) change = Change::varying;
        if (keeps_codes && decodes(node)) change = Change::varying;
        std::fill_n(changes.begin() + node.first_result, node.result_count, change);
        hoisted[n] = change == Change::invariant;
    }
    std::vector<bool> read_in_body(body.value_count(), false);
    for (const ValueId id : body.outputs()) read_in_body[static_cast<std::size_t>(id)] = true;
    for (std::size_t n = body.nodes().size(); n-- > 0;) {
        const Node& node = body.nodes()[n];
        if (hoisted[n] && is_free(body, node) && read_in_body[node.first_result])
            hoisted[n] = false;
        if (hoisted[n]) continue;
        for (const ValueId id : body.operands(node))
            read_in_body[static_cast<std::size_t>(id)] = true;
    }
    return hoisted;
}

/// Moves nodes of a body in front of its scan.
class Hoisting {
  public:
    Hoisting(const ScanAttribute& scan, const std::vector<bool>& hoisted, Graph& outside,
             std::span<const Var> operands)
        : scan_(scan),
          hoisted_(hoisted),
          outer_(*scan.body, outside),
          inner_(*scan.body, body_),
          operands_(operands.begin(), operands.end()) {}

    [[nodiscard]] std::vector<Var> operands() const { return operands_; }

    ScanAttribute run() {
        const Graph& source = *scan_.body;
        for (std::size_t i = 0; i < source.inputs().size(); ++i) {
            outer_.map(source.inputs()[i], operands_[i]);
            inner_.copy(source.producer(source.inputs()[i]));
        }
        for (std::size_t n = 0; n < source.nodes().size(); ++n)
            if (hoisted_[n]) hoist(source.nodes()[n]);
        add_inputs();
        for (std::size_t n = 0; n < source.nodes().size(); ++n)
            if (!hoisted_[n] && !is_input(source.nodes()[n])) inner_.copy(source.nodes()[n]);
        inner_.outputs();
        ScanAttribute scan = scan_;
        scan.body = std::make_shared<const Graph>(std::move(body_));
        return scan;
    }

  private:
    void hoist(const Node& node) {
        for (const ValueId id : scan_.body->operands(node)) make_outside(id);
        outer_.copy(node);
    }

    /// Numbers and views that a hoisted node reads are made outside too; the body keeps its own.
    void make_outside(ValueId id) {
        if (outer_.mapped(id).graph == nullptr) hoist(scan_.body->producer(id));
    }

    /// An input for every hoisted value that the body still reads.
    void add_inputs() {
        const Graph& source = *scan_.body;
        std::vector<bool> read(source.value_count(), false);
        for (const ValueId id : source.outputs()) read[static_cast<std::size_t>(id)] = true;
        for (std::size_t n = 0; n < source.nodes().size(); ++n)
            for (const ValueId id : source.operands(source.nodes()[n]))
                if (!hoisted_[n]) read[static_cast<std::size_t>(id)] = true;
        for (std::size_t n = 0; n < source.nodes().size(); ++n) {
            const Node& node = source.nodes()[n];
            for (std::uint32_t i = 0; hoisted_[n] && i < node.result_count; ++i) {
                const ValueId id{node.first_result + i};
                if (!read[static_cast<std::size_t>(id)]) continue;
                const ValueInfo& info = source.value(id);
                inner_.map(id, body_.input("hoisted " + std::to_string(operands_.size()), info.type,
                                           info.shape, info.per_individual));
                operands_.push_back(outer_.mapped(id));
            }
        }
    }

    const ScanAttribute& scan_;
    const std::vector<bool>& hoisted_;
    Graph body_;
    GraphCopy outer_;  ///< Of the body into the graph of the scan.
    GraphCopy inner_;  ///< Of the body into the new one.
    std::vector<Var> operands_;
};

}  // namespace

Graph hoist_invariants(const Graph& graph) {
    Graph result;
    GraphCopy copy(graph, result);
    for (const Node& node : graph.nodes()) {
        if (loop_of(node) == nullptr) {
            copy.copy(node);
            continue;
        }
        const ScanAttribute scan = with_body(node, hoist_invariants);
        const std::vector<bool> hoisted = hoisted_nodes(scan);
        const std::vector<Var> operands = copy.operands(node);
        Hoisting hoisting(scan, hoisted, result, operands);
        ScanAttribute rest = hoisting.run();
        const Var first = result.add(Op::scan, hoisting.operands(), std::move(rest), node.where);
        for (std::uint32_t i = 0; i < node.result_count; ++i)
            copy.map(ValueId{node.first_result + i},
                     {&result, ValueId{static_cast<std::uint32_t>(first.id) + i}});
    }
    copy.outputs();
    return result;
}

Graph vmap(const Graph& graph, std::span<const std::size_t> per_individual_inputs) {
    std::vector<bool> batch_axes;
    for (const ValueId id : graph.inputs()) batch_axes.push_back(graph.value(id).per_individual);
    for (const std::size_t input : per_individual_inputs) {
        CAMBRIAN_ASSERT(input < batch_axes.size());
        batch_axes[input] = true;
    }
    Graph result = graph;
    result.set_batch_axes(batch_axes);
    return result;
}

}  // namespace cambrian
