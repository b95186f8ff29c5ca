#pragma once

#include <cstdint>

#include "cambrian/evolve/variation/mutation.hpp"

namespace cambrian::evolve {

/// How networks become programs: one compiled graph for each structure, or one for all networks,
/// which reads each network as data and is never compiled again when structures mutate. Networks
/// too large for the interpreted family, or with a layer it does not know, run as graphs in it too.
/// Under strict math both give the same bits; under fast math large products may differ.
enum class Family : std::uint8_t { graph, interpreted };

/// engine.family of a config.
enum class FamilyChoice : std::uint8_t {
    automatic,  ///< Interpreted where the mutations of a run make new structures.
    graph,
    interpreted,
};

/// A function of the config only, so that all ranks of a run choose alike.
[[nodiscard]] Family family_of(FamilyChoice choice, const MutationSettings& mutation);

}  // namespace cambrian::evolve
