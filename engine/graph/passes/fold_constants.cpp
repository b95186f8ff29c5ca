#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "cambrian/engine/graph/graph_copy.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"

namespace cambrian {
namespace {

using Elements = std::vector<double>;

/// Values with more elements are left to run time: constants stay smaller than the graph's data.
constexpr std::int64_t max_folded_elements = 4096;

class ConstantFolding {
  public:
    ConstantFolding(const Graph& graph, const EvaluateNode& evaluate)
        : graph_(graph), evaluate_(evaluate), copy_(graph, result_), known_(graph.value_count()) {}

    Graph run() {
        for (const Node& node : graph_.nodes()) visit(node);
        copy_.outputs();
        return std::move(result_);
    }

  private:
    void visit(const Node& node) {
        if (node.op == Op::scan) {
            const auto fold = [&](const Graph& body) { return fold_constants(body, evaluate_); };
            return copy_.copy(node, with_body(node, fold));
        }
        if (node.op == Op::constant) {
            learn(node);
        } else if (can_evaluate(node) && evaluate(node) && !is_view(node)) {
            return append_known(node);
        }
        if (const auto simpler = simplified(node))
            copy_.map(ValueId{node.first_result}, *simpler);
        else
            copy_.copy(node);
    }

    [[nodiscard]] std::optional<Var> simplified(const Node& node) {
        if (node.operand_count == 0 || node.result_count != 1) return std::nullopt;
        const std::vector<Var> operands = copy_.operands(node);
        return simpler_value({result_, node, graph_.value(ValueId{node.first_result}), operands});
    }

    [[nodiscard]] bool is_small(ValueId id) const {
        return graph_.value(id).shape.elements() <= max_folded_elements;
    }

    void learn(const Node& node) {
        const Tensor& tensor = *std::get<ConstantAttribute>(node.attributes).value;
        if (!is_small(ValueId{node.first_result})) return;
        auto elements = std::make_shared<Elements>(tensor.elements);
        if (tensor.type == ValueType::real)
            std::ranges::transform(*elements, elements->begin(), [](double x) {
                return static_cast<double>(static_cast<float>(x));
            });
        known_[node.first_result] = std::move(elements);
    }

    [[nodiscard]] bool can_evaluate(const Node& node) const {
        if (!evaluate_ || !op_info(node.op).exact || is_bound(node.op)) return false;
        for (std::uint32_t i = 0; i < node.result_count; ++i)
            if (!is_small(ValueId{node.first_result + i})) return false;
        return std::ranges::all_of(graph_.operands(node), [&](ValueId id) {
            return known_[static_cast<std::size_t>(id)] != nullptr;
        });
    }

    [[nodiscard]] bool evaluate(const Node& node) {
        std::vector<const Elements*> operands;
        for (const ValueId id : graph_.operands(node))
            operands.push_back(known_[static_cast<std::size_t>(id)].get());
        std::vector<Elements> results(node.result_count);
        for (std::uint32_t i = 0; i < node.result_count; ++i)
            results[i].resize(static_cast<std::size_t>(
                graph_.value(ValueId{node.first_result + i}).shape.elements()));
        if (!evaluate_(graph_, node, operands, results)) return false;
        for (std::uint32_t i = 0; i < node.result_count; ++i)
            known_[node.first_result + i] = std::make_shared<Elements>(std::move(results[i]));
        return true;
    }

    /// What a kernel makes without memory: numbers that count up, or repeat.
    [[nodiscard]] static bool is_view(const Node& node) {
        return node.op == Op::iota || node.op == Op::broadcast;
    }

    void append_known(const Node& node) {
        for (std::uint32_t i = 0; i < node.result_count; ++i) {
            const ValueId id{node.first_result + i};
            copy_.map(id, constant(*known_[node.first_result + i], graph_.value(id)));
        }
    }

    /// Many equal elements stay one number, which fused kernels hold in their text.
    Var constant(const Elements& elements, const ValueInfo& info) {
        const auto same = [&](double x) {
            return x == elements[0] && std::signbit(x) == std::signbit(elements[0]);
        };
        if (info.shape.rank() == 0 || elements.empty() || !std::ranges::all_of(elements, same))
            return result_.constant(Tensor(info.type, info.shape, elements));
        const Var number = result_.constant(Tensor::scalar(elements[0], info.type));
        return result_.add(Op::broadcast, std::span(&number, 1), ShapeAttribute{info.shape});
    }

    const Graph& graph_;
    const EvaluateNode& evaluate_;
    Graph result_;
    GraphCopy copy_;
    /// Elements of every value that is known, null for the others.
    std::vector<std::shared_ptr<const Elements>> known_;
};

}  // namespace

Graph fold_constants(const Graph& graph, const EvaluateNode& evaluate) {
    return ConstantFolding(graph, evaluate).run();
}

}  // namespace cambrian
