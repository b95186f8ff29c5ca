#include "cambrian/engine/graph/gradient/gradient.hpp"

#include <algorithm>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/graph/builders/arithmetic.hpp"
#include "cambrian/engine/graph/builders/movement.hpp"
#include "cambrian/engine/graph/rules/gradient_context.hpp"

namespace cambrian {
namespace {

constexpr Var nothing{};

bool is_nothing(Var value) {
    return value.graph == nullptr;
}

/// One reverse sweep over a graph that grows while it is swept.
class ReverseSweep {
  public:
    ReverseSweep(Graph& graph, std::span<const Var> with_respect_to) : graph_(graph) {
        depends_.resize(graph.value_count(), false);
        adjoints_.resize(graph.value_count(), nothing);
        for (const Var value : with_respect_to) depends_[index(value)] = true;
        spread_dependence(0, graph.nodes().size());
    }

    void seed(Var value, Var upstream) { add(value, upstream); }

    /// Visits the nodes [first, last) from last to first.
    void sweep(std::size_t first, std::size_t last) {
        while (last-- > first) visit(last);
    }

    [[nodiscard]] Var adjoint(Var value) const {
        const Var found = adjoints_[index(value)];
        return is_nothing(found) ? filled(graph_, value.shape(), 0.0) : found;
    }

  private:
    static std::size_t index(Var value) { return static_cast<std::size_t>(value.id); }

    void add(Var value, Var gradient) {
        if (depends_[index(value)])
            adjoints_[index(value)] =
                is_nothing(adjoints_[index(value)]) ? gradient : adjoints_[index(value)] + gradient;
    }

    /// Notes results of the nodes [first, last) that depend on what is differentiated.
    void spread_dependence(std::size_t first, std::size_t last) {
        depends_.resize(graph_.value_count(), false);
        adjoints_.resize(graph_.value_count(), nothing);
        for (std::size_t i = first; i < last; ++i) {
            const Node& node = graph_.nodes()[i];
            const auto depends = [&](ValueId id) {
                return bool{depends_[static_cast<std::size_t>(id)]};
            };
            if (!op_info(node.op).differentiable ||
                !std::ranges::any_of(graph_.operands(node), depends))
                continue;
            for (std::uint32_t id = node.first_result; id < node.first_result + node.result_count;
                 ++id)
                if (graph_.value(ValueId{id}).type == ValueType::real) depends_[id] = true;
        }
    }

    void visit(std::size_t node_index) {
        // A copy: the rule appends to the graph and may move its nodes.
        const Node node = graph_.nodes()[node_index];
        std::vector<Var> results;
        std::vector<Var> upstream;
        for (std::uint32_t id = node.first_result; id < node.first_result + node.result_count;
             ++id) {
            results.push_back({&graph_, ValueId{id}});
            upstream.push_back(adjoints_[id]);
        }
        const OpInfo& rule = op_info(node.op);
        if (!rule.differentiable || std::ranges::all_of(upstream, is_nothing)) return;
        std::vector<Var> operands;
        for (const ValueId id : graph_.operands(node)) operands.push_back({&graph_, id});
        if (rule.gradient != nullptr)
            apply_rule(node, operands, results, upstream);
        else
            sweep_lowering(node, operands, upstream);
    }

    void apply_rule(const Node& node, std::span<const Var> operands, std::span<const Var> results,
                    std::span<const Var> upstream) {
        std::vector<bool> wanted;
        for (const Var operand : operands) wanted.push_back(depends_[index(operand)]);
        if (std::ranges::find(wanted, true) == wanted.end()) return;
        std::vector<Var> gradients(operands.size(), nothing);
        GradientContext context(graph_, node, operands, results, upstream, wanted, gradients);
        op_info(node.op).gradient(context);
        for (std::size_t i = 0; i < operands.size(); ++i)
            if (!is_nothing(gradients[i])) add(operands[i], gradients[i]);
    }

    void sweep_lowering(const Node& node, std::span<const Var> operands,
                        std::span<const Var> upstream) {
        const std::size_t first = graph_.nodes().size();
        const std::vector<Var> lowered =
            op_info(node.op).lowering(graph_, operands, node.attributes);
        const std::size_t last = graph_.nodes().size();
        spread_dependence(first, last);
        for (std::size_t i = 0; i < lowered.size(); ++i)
            if (!is_nothing(upstream[i])) add(lowered[i], upstream[i]);
        sweep(first, last);
    }

    Graph& graph_;
    std::vector<bool> depends_;
    std::vector<Var> adjoints_;
};

void check_seed(Var value, Var upstream) {
    const ValueInfo& a = value.info();
    const ValueInfo& b = upstream.info();
    if (a.type != ValueType::real || b.type != ValueType::real || a.shape != b.shape)
        throw ShapeError(
            "gradient: value " + std::string(name(a.type)) + " " + a.shape.text() +
            " and upstream " + std::string(name(b.type)) + " " + b.shape.text() +
            " do not fit (both must be real and of one shape) pass an upstream like the value");
}

}  // namespace

std::vector<Var> gradient(std::span<const Var> values, std::span<const Var> upstream,
                          std::span<const Var> with_respect_to) {
    CAMBRIAN_ASSERT(values.size() == upstream.size());
    if (with_respect_to.empty()) return {};
    Graph& graph = *with_respect_to[0].graph;
    ReverseSweep sweep(graph, with_respect_to);
    const std::size_t last = graph.nodes().size();
    for (std::size_t i = 0; i < values.size(); ++i) {
        check_seed(values[i], upstream[i]);
        sweep.seed(values[i], upstream[i]);
    }
    sweep.sweep(0, last);
    std::vector<Var> gradients;
    for (const Var value : with_respect_to) gradients.push_back(sweep.adjoint(value));
    return gradients;
}

std::vector<Var> gradient(Var value, Var upstream, std::span<const Var> with_respect_to) {
    return gradient(std::span(&value, 1), std::span(&upstream, 1), with_respect_to);
}

std::vector<Var> gradient(Var value, std::span<const Var> with_respect_to) {
    return gradient(value, filled(*value.graph, Shape{}, 1.0), with_respect_to);
}

}  // namespace cambrian
