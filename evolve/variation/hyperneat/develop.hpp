#pragma once

#include "cambrian/evolve/genome/structure.hpp"
#include "cambrian/evolve/variation/hyperneat/substrate.hpp"

namespace cambrian::evolve {

/// The network that a CPPN draws on a substrate: its nodes and connections by HyperNEAT or
/// ES-HyperNEAT, as the type of the substrate says, without hidden nodes that are on no path from
/// an input or a bias to an output. A function of both alone, the same bits on every machine.
[[nodiscard]] Individual develop(const Substrate& substrate, const Individual& genotype);

}  // namespace cambrian::evolve
