#include <optional>
#include <utility>

#include "cambrian/engine/graph/graph_copy.hpp"
#include "cambrian/engine/graph/passes/fusion_group.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"

namespace cambrian {
namespace {

/// A matmul and what follows it, to become one node in the place of its last one: by then every
/// operand exists.
struct EpilogueFusion {
    const Node* product = nullptr;
    std::optional<ValueId> bias;
    std::optional<ValueId> code;
    ActivationSet set = ActivationSet::common;
};

class LinearFusion {
  public:
    explicit LinearFusion(const Graph& graph)
        : graph_(graph), users_(users_of_values(graph)), fusions_(graph.nodes().size()) {
        for (const Node& node : graph.nodes())
            if (node.op == Op::matmul || node.op == Op::packed_matmul) find(node);
    }

    [[nodiscard]] Graph fused() const {
        Graph result;
        GraphCopy copy(graph_, result);
        for (std::size_t i = 0; i < graph_.nodes().size(); ++i) {
            const Node& node = graph_.nodes()[i];
            if (const EpilogueFusion& fusion = fusions_[i]; fusion.product != nullptr) {
                append(fusion, node, result, copy);
            } else if (node.op == Op::scan) {
                copy.copy(node, with_body(node, cambrian::fuse_matmul_epilogue));
            } else if (!absorbed_[i]) {
                copy.copy(node);
            }
        }
        copy.outputs();
        return result;
    }

  private:
    [[nodiscard]] std::size_t position(const Node& node) const {
        return static_cast<std::size_t>(&node - graph_.nodes().data());
    }

    /// The one node that reads a node's result, when it is of that op.
    [[nodiscard]] const Node* only_user(const Node& node, Op op) const {
        const ValueUsers& users = users_[node.first_result];
        return users.count == 1 && users.last != nullptr && users.last->op == op ? users.last
                                                                                 : nullptr;
    }

    /// A product that all individuals share is not repeated for the epilogue of each.
    [[nodiscard]] bool repeats(const Node& product, ValueId operand) const {
        return graph_.value(operand).per_individual &&
               !graph_.value(ValueId{product.first_result}).per_individual;
    }

    void find(const Node& product) {
        EpilogueFusion fusion{.product = &product, .bias = {}, .code = {}, .set = {}};
        const Node* last = &product;
        const Shape& shape = graph_.value(ValueId{product.first_result}).shape;
        if (const Node* sum = only_user(product, Op::add)) {
            const auto operands = graph_.operands(*sum);
            const bool left = operands[0] == ValueId{product.first_result};
            const ValueId bias = operands[left ? 1 : 0];
            if (graph_.value(bias).shape == Shape{shape[-1]} && !repeats(product, bias)) {
                fusion.bias = bias;
                last = sum;
            }
        }
        const Node* activation = only_user(*last, Op::activate);
        if (activation == nullptr) activation = only_user(*last, Op::activate_any);
        if (activation != nullptr) {
            const auto operands = graph_.operands(*activation);
            if (operands[0] == ValueId{last->first_result} && !repeats(product, operands[1])) {
                fusion.code = operands[1];
                fusion.set = activation_set(activation->op);
                if (fusion.bias) absorbed_[position(*last)] = true;
                last = activation;
            }
        }
        if (last == &product) return;
        absorbed_[position(product)] = true;
        fusions_[position(*last)] = fusion;
    }

    void append(const EpilogueFusion& fusion, const Node& last, Graph& target,
                GraphCopy& copy) const {
        std::vector<Var> operands = copy.operands(*fusion.product);
        if (fusion.bias) operands.push_back(copy.mapped(*fusion.bias));
        if (fusion.code) operands.push_back(copy.mapped(*fusion.code));
        MatmulEpilogueAttribute linear{.product = {.transpose_right = true},
                                       .bias = fusion.bias.has_value(),
                                       .activation = fusion.code.has_value(),
                                       .set = fusion.set};
        if (const auto* packed = std::get_if<PackedAttribute>(&fusion.product->attributes))
            linear.packed = *packed;
        else
            linear.product = std::get<MatmulAttribute>(fusion.product->attributes);
        copy.map(ValueId{last.first_result},
                 target.add(Op::matmul_epilogue, operands, linear, fusion.product->where));
    }

    const Graph& graph_;
    std::vector<ValueUsers> users_;        ///< Of every value.
    std::vector<EpilogueFusion> fusions_;  ///< By the position of the node that is replaced.
    std::vector<bool> absorbed_ = std::vector<bool>(graph_.nodes().size(), false);
};

}  // namespace

Graph fuse_matmul_epilogue(const Graph& graph) {
    return LinearFusion(graph).fused();
}

}  // namespace cambrian
