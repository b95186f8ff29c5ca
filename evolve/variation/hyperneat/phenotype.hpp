#pragma once

#include <cstdint>
#include <vector>

#include "cambrian/engine/layers/neurons.hpp"
#include "cambrian/evolve/genome/structure.hpp"
#include "cambrian/evolve/variation/hyperneat/substrate.hpp"

namespace cambrian::evolve {

/// The network of a substrate while its connections are found: a graph of neurons.
class Phenotype {
  public:
    /// Inputs and outputs alone.
    explicit Phenotype(const Substrate& substrate);

    /// The number of a new hidden neuron.
    std::int64_t add_neuron();
    /// @param source as in Neurons::Connection.
    void connect(std::int64_t source, std::int64_t target, float weight, std::int64_t delay = 0);
    void set_bias(std::int64_t neuron, float bias);
    /// Number of a neuron as the source of connections.
    [[nodiscard]] std::int64_t source(std::int64_t neuron) const { return layer_.in + neuron; }
    [[nodiscard]] std::int64_t connections() const { return std::ssize(layer_.connections); }

    /// Without the hidden neurons that are on no path from an input or a bias to an output.
    [[nodiscard]] Individual individual() &&;

  private:
    [[nodiscard]] std::vector<bool> on_paths() const;
    void keep(const std::vector<bool>& kept);

    Neurons layer_;
    std::vector<float> weights_;
    std::vector<float> biases_;
    Neurons::Neuron hidden_;
};

}  // namespace cambrian::evolve
