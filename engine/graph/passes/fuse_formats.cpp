#include <algorithm>
#include <array>
#include <optional>

#include "cambrian/engine/graph/graph_copy.hpp"
#include "cambrian/engine/graph/passes/fusion_group.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"
#include "cambrian/engine/graph/rules/op_rules.hpp"

namespace cambrian {
namespace {

using Multiplies = std::function<bool(NumberFormat)>;

/// A product whose operands are decoded, and the encode it becomes one node with, if any.
struct Fusion {
    const Node* product = nullptr;
    MatmulEpilogueAttribute linear;
};

class FormatFusion {
  public:
    FormatFusion(const Graph& graph, const Multiplies& multiplies)
        : graph_(graph),
          multiplies_(multiplies),
          users_(users_of_values(graph)),
          fusions_(graph.nodes().size()),
          absorbed_(graph.nodes().size(), false) {
        for (const Node& node : graph.nodes()) find(node);
    }

    [[nodiscard]] Graph fused() const {
        Graph result;
        GraphCopy copy(graph_, result);
        for (std::size_t i = 0; i < graph_.nodes().size(); ++i) {
            const Node& node = graph_.nodes()[i];
            if (fusions_[i].product != nullptr) {
                append(fusions_[i], node, result, copy);
            } else if (loop_of(node) != nullptr) {
                const auto pass = [&](const Graph& body) {
                    return fuse_formats(body, multiplies_);
                };
                copy.copy(node, with_body(node, pass));
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

    /// The format a value is decoded from, with the length of its rows.
    [[nodiscard]] std::optional<FormatAttribute> format_of(ValueId id) const {
        const Node& producer = graph_.producer(id);
        if (producer.op != Op::decode) return std::nullopt;
        return std::get<FormatAttribute>(producer.attributes);
    }

    /// Notes a product of two values that are decoded from one format.
    void find(const Node& product) {
        Fusion fusion{&product, {}};
        if (const auto* epilogue = std::get_if<MatmulEpilogueAttribute>(&product.attributes))
            fusion.linear = *epilogue;
        else if (const auto* plain = std::get_if<MatmulAttribute>(&product.attributes))
            fusion.linear.product = *plain;
        else
            return;
        if (fusion.linear.codes || fusion.linear.packed) return;
        const auto left = format_of(graph_.operands(product)[0]);
        const auto right = format_of(graph_.operands(product)[1]);
        if (!left || !right || left->format != right->format || !multiplies_(left->format)) return;
        fusion.linear.codes = ProductCodes{left->format, left->length, right->length, false};
        const Node* last = &product;
        const ValueUsers& users = users_[product.first_result];
        if (users.count == 1 && users.last != nullptr && users.last->op == Op::encode &&
            std::get<FormatAttribute>(users.last->attributes).format == left->format) {
            fusion.linear.codes->result = true;
            absorbed_[position(product)] = true;
            last = users.last;
        }
        fusions_[position(*last)] = fusion;
    }

    void append(const Fusion& fusion, const Node& last, Graph& target, GraphCopy& copy) const {
        std::vector<Var> operands = copy.operands(*fusion.product);
        for (std::size_t i = 0; i < 2; ++i) {
            const Node& decode = graph_.producer(graph_.operands(*fusion.product)[i]);
            operands[i] = copy.mapped(graph_.operands(decode)[0]);
        }
        copy.map(ValueId{last.first_result},
                 target.add(Op::matmul_epilogue, operands, fusion.linear, fusion.product->where));
    }

    const Graph& graph_;
    const Multiplies& multiplies_;
    std::vector<ValueUsers> users_;  ///< Of every value.
    std::vector<Fusion> fusions_;    ///< By the position of the node that is replaced.
    std::vector<bool> absorbed_;
};

bool is_split(const Node& node, const Multiplies& multiplies) {
    const auto* product = std::get_if<MatmulEpilogueAttribute>(&node.attributes);
    return product != nullptr && product->codes && !multiplies(product->codes->format);
}

bool needs_split(const Graph& graph, const Multiplies& multiplies) {
    return std::ranges::any_of(graph.nodes(), [&](const Node& node) {
        const ScanAttribute* loop = loop_of(node);
        return loop != nullptr ? needs_split(*loop->body, multiplies) : is_split(node, multiplies);
    });
}

}  // namespace

Graph fuse_formats(const Graph& graph, const Multiplies& multiplies) {
    return FormatFusion(graph, multiplies).fused();
}

Graph split_formats(const Graph& graph, const Multiplies& multiplies) {
    if (!needs_split(graph, multiplies)) return graph;
    Graph result;
    GraphCopy copy(graph, result);
    for (const Node& node : graph.nodes()) {
        if (loop_of(node) != nullptr) {
            const auto pass = [&](const Graph& body) { return split_formats(body, multiplies); };
            copy.copy(node, with_body(node, pass));
        } else if (is_split(node, multiplies)) {
            const std::vector<Var> operands = copy.operands(node);
            copy.map(ValueId{node.first_result},
                     lower_matmul_epilogue(result, operands, node.attributes).front());
        } else {
            copy.copy(node);
        }
    }
    copy.outputs();
    return result;
}

}  // namespace cambrian
