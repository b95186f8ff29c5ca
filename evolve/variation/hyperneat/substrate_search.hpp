#pragma once

#include "cambrian/evolve/variation/hyperneat/cppn.hpp"
#include "cambrian/evolve/variation/hyperneat/phenotype.hpp"
#include "cambrian/evolve/variation/hyperneat/substrate.hpp"

namespace cambrian::evolve {

/// The network of an evolved substrate (ES-HyperNEAT): hidden nodes are found from the inputs, then
/// from those found last, as often as the settings say, and outputs are connected with those that
/// were found. A connection looks back where it does not lead to a node that was found later: it
/// has a delay in a recurrent substrate, and else is left out. What is found beyond the limits of
/// the settings is left out.
[[nodiscard]] Phenotype search(const Substrate& substrate, Cppn& cppn);

}  // namespace cambrian::evolve
