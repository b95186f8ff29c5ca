#pragma once

#include <string>
#include <vector>

#include "cambrian/engine/graph/graph.hpp"
#include "cambrian/engine/network/network.hpp"
#include "cambrian/evolve/genome/genome.hpp"

namespace cambrian::evolve {

/// A pass of one network as a graph, and the values of its inputs.
struct Inference {
    Graph graph;
    std::vector<Tensor> values;

    Var add(const std::string& name, Tensor value);
    NetworkOperands add(const Network& network, const Genome& genome);
    /// Tensors of a task.
    std::vector<Var> add(const std::string& name, std::vector<Tensor> tensors);
};

}  // namespace cambrian::evolve
