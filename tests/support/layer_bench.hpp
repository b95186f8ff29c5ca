#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/layers/any_layer.hpp"
#include "cambrian/engine/layers/layer_documentation.hpp"

namespace cambrian::test {

/// One layer as a graph: inputs are x, state, parameters (real), then activation codes (integer);
/// outputs are the output and the new state.
class LayerBench {
  public:
    /// @param row that the layer takes.
    /// @param leading axes of x before its row.
    LayerBench(const AnyLayer& layer, const Shape& row, std::vector<std::int64_t> leading);
    /// Of a layer's example_row.
    LayerBench(const AnyLayer& layer, std::vector<std::int64_t> leading)
        : LayerBench(layer, example_row(layer), std::move(leading)) {}

    [[nodiscard]] const Graph& graph() const { return graph_; }
    /// Resolved.
    [[nodiscard]] const AnyLayer& layer() const { return layer_; }
    [[nodiscard]] std::size_t real_inputs() const { return real_inputs_; }
    /// Values for all inputs, standard normals (ids of an embedding 0.5 to 2.5, running statistics
    /// and time constants positive) and the layer's own activation codes. The values of individual
    /// i are the same in any population; x is shared by all unless it is the only input.
    [[nodiscard]] std::vector<Tensor> values(std::int64_t population = 0) const;
    /// The graph with the inputs from first_own() on per individual.
    [[nodiscard]] Graph vmap() const;
    [[nodiscard]] std::size_t first_own() const { return graph_.inputs().size() > 1 ? 1 : 0; }
    /// The graph with gradients of Σ outputs · upstream instead of the outputs, one for each real
    /// input; `upstream` gives the weight of element e of output o.
    [[nodiscard]] Graph gradients() const;
    [[nodiscard]] static double upstream(std::size_t output, std::size_t element);

  private:
    [[nodiscard]] Graph built(bool with_gradients) const;
    [[nodiscard]] bool is_id(std::size_t input) const;
    [[nodiscard]] bool is_positive(std::size_t input) const;

    AnyLayer layer_;
    Shape row_;
    std::vector<std::int64_t> leading_;
    Graph graph_;
    std::size_t real_inputs_ = 0;
};

/// Elements of individual p of a tensor with a leading population axis.
[[nodiscard]] std::vector<double> individual(const Tensor& tensor, std::int64_t p);

}  // namespace cambrian::test
