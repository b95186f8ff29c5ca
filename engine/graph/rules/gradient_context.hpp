#pragma once

#include <span>
#include <vector>

#include "cambrian/engine/graph/graph.hpp"

namespace cambrian {

/// What the gradient rule of an op sees: operands, results and upstream gradients of one node, as
/// values of the graph that is being extended.
class GradientContext {
  public:
    GradientContext(Graph& graph, const Node& node, std::span<const Var> operands,
                    std::span<const Var> results, std::span<const Var> upstream,
                    const std::vector<bool>& wanted, std::vector<Var>& adjoints)
        : graph_(graph),
          node_(node),
          operands_(operands),
          results_(results),
          upstream_(upstream),
          wanted_(wanted),
          adjoints_(adjoints) {}

    [[nodiscard]] Graph& graph() const { return graph_; }
    [[nodiscard]] const Attributes& attributes() const { return node_.attributes; }
    [[nodiscard]] std::size_t operand_count() const { return operands_.size(); }
    [[nodiscard]] Var operand(std::size_t index = 0) const { return operands_[index]; }
    [[nodiscard]] Var result(std::size_t index = 0) const { return results_[index]; }
    [[nodiscard]] std::size_t result_count() const { return results_.size(); }
    /// Gradient that arrives at a result; zeros where nothing arrived.
    [[nodiscard]] Var upstream(std::size_t index = 0) const;
    /// Whether any gradient arrived at a result.
    [[nodiscard]] bool arrived(std::size_t index) const {
        return upstream_[index].graph != nullptr;
    }
    /// Whether a gradient of an operand is of use; others may be left out.
    [[nodiscard]] bool wants(std::size_t operand_index) const { return wanted_[operand_index]; }
    /// Adds a gradient to an operand, summed over the axes along which the operand was broadcast.
    /// Gradients to operands that are not wanted, such as integers, are ignored.
    void accumulate(std::size_t operand_index, Var gradient);

  private:
    Graph& graph_;
    const Node& node_;
    std::span<const Var> operands_;
    std::span<const Var> results_;
    std::span<const Var> upstream_;  ///< graph == nullptr says "nothing arrived".
    const std::vector<bool>& wanted_;
    std::vector<Var>& adjoints_;
};

}  // namespace cambrian
