#pragma once

#include <memory>

#include "cambrian/evolve/variation/genome_kind.hpp"
#include "cambrian/evolve/variation/hyperneat/substrate.hpp"

namespace cambrian::evolve {

/// Genes are those of a CPPN, which changes and crosses as NEAT does (Stanley, D'Ambrosio and Gauci
/// 2009); what is evaluated is the network that it draws on a substrate.
/// @param settings that were checked.
[[nodiscard]] std::shared_ptr<const GenomeKind> make_hyperneat(NeatSettings settings,
                                                               const GenomeContext& context,
                                                               Substrate substrate);

}  // namespace cambrian::evolve
