#pragma once

#include <string>
#include <vector>

#include "cambrian/engine/network/network.hpp"

namespace cambrian::launch {

/// A network as HTML: slots as boxes along the chain with links as arcs, or, where its one layer is
/// a graph of single neurons, every neuron and connection, from the inputs on the left to the
/// outputs on the right, coloured by the sign of the weight and as wide as it is large. What is
/// more than a picture can show is counted instead.
/// @param weights of the network, in the order of its parameters.
/// @param inputs names of the inputs, or nothing.
/// @param outputs names of the outputs, or nothing.
[[nodiscard]] std::string network_html(const Network& network, const std::vector<float>& weights,
                                       const std::vector<std::string>& inputs,
                                       const std::vector<std::string>& outputs);

}  // namespace cambrian::launch
