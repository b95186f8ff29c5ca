#include <algorithm>

#include "cambrian/engine/graph/builders/arithmetic.hpp"
#include "cambrian/engine/graph/builders/movement.hpp"
#include "cambrian/engine/graph/builders/reduce.hpp"
#include "cambrian/engine/graph/graph_copy.hpp"
#include "cambrian/engine/graph/graph_errors.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"

namespace cambrian {
namespace {

bool may_fail(const Graph& graph) {
    return std::ranges::any_of(graph.nodes(),
                               [&](const Node& node) { return may_fail(graph, node); });
}

/// Whether any flag of an individual is set.
Var any(Var flags) {
    if (flags.shape().rank() == 0) return flags;
    const Var counts = cast(reshape(flags, {-1}), ValueType::integer);
    return cast(reduce_max(counts, 0), ValueType::boolean);
}

/// Copies a body in which nothing fails while `alive` is false.
class Guard {
  public:
    Guard(const Graph& source, Graph& target) : source_(source), copy_(source, target) {}

    void run(int alive_input) {
        for (const ValueId input : source_.inputs()) copy_.copy(source_.producer(input));
        alive_ = any(copy_.mapped(source_.inputs()[static_cast<std::size_t>(alive_input)]));
        for (const Node& node : source_.nodes()) {
            if (node.op == Op::input) continue;
            if (!may_fail(source_, node))
                copy_.copy(node);
            else if (node.op == Op::scan)
                copy_scan(node);
            else
                copy_checked(node);
        }
        copy_.outputs();
    }

  private:
    void append(const Node& node, std::span<const Var> operands, Attributes attributes) {
        const Var first =
            operands[0].graph->add(node.op, operands, std::move(attributes), node.where);
        for (std::uint32_t i = 0; i < node.result_count; ++i)
            copy_.map(ValueId{node.first_result + i},
                      {first.graph, ValueId{static_cast<std::uint32_t>(first.id) + i}});
    }

    /// What is checked is the second operand of every op: a divisor or an index.
    void copy_checked(const Node& node) {
        std::vector<Var> operands = copy_.operands(node);
        const double harmless = node.op == Op::div ? 1.0 : 0.0;
        operands[1] = select(alive_, operands[1],
                             constant(*alive_.graph, harmless, ValueType::integer), node.where);
        append(node, operands, node.attributes);
    }

    /// The body of an inner scan is told by one more invariant.
    void copy_scan(const Node& node) {
        ScanAttribute scan = std::get<ScanAttribute>(node.attributes);
        Graph body;
        const std::vector<Var> inputs = declare_inputs(body, *scan.body);
        const std::vector<Var> outputs = inline_graph(body, *scan.body, inputs);
        for (const Var output : outputs) body.output(output);
        body.input("alive", ValueType::boolean, {}, alive_.info().per_individual);
        const auto flag = static_cast<int>(body.inputs().size()) - 1;
        Graph guarded;
        Guard(body, guarded).run(flag);
        scan.body = std::make_shared<const Graph>(std::move(guarded));
        std::vector<Var> operands = copy_.operands(node);
        operands.push_back(alive_);
        append(node, operands, std::move(scan));
    }

    static std::vector<Var> declare_inputs(Graph& body, const Graph& source) {
        std::vector<Var> inputs;
        for (const ValueId id : source.inputs()) {
            const ValueInfo& info = source.value(id);
            const auto& input = std::get<InputAttribute>(source.producer(id).attributes);
            inputs.push_back(body.input(*input.name, info.type, info.shape, info.per_individual));
        }
        return inputs;
    }

    const Graph& source_;
    GraphCopy copy_;
    Var alive_;
};

}  // namespace

Graph guard_body(const Graph& body, int alive_carry) {
    if (!may_fail(body)) return body;
    Graph guarded;
    Guard(body, guarded).run(alive_carry);
    return guarded;
}

Graph guard_finished(const Graph& graph) {
    if (!may_fail(graph)) return graph;
    Graph result;
    GraphCopy copy(graph, result);
    for (const Node& node : graph.nodes()) {
        if (node.op != Op::scan) {
            copy.copy(node);
            continue;
        }
        const int alive = std::get<ScanAttribute>(node.attributes).alive_carry;
        copy.copy(node, with_body(node, [&](const Graph& body) {
                      const Graph inner = guard_finished(body);
                      return alive < 0 ? inner : guard_body(inner, alive);
                  }));
    }
    copy.outputs();
    return result;
}

}  // namespace cambrian
