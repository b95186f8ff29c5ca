#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "cambrian/evolve/variation/mutation.hpp"
#include "cambrian/evolve/variation/variation.hpp"

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
inline constexpr std::array<std::string_view, 3> family_choice_names{"auto", "graph",
                                                                     "interpreted"};
[[nodiscard]] constexpr std::span<const std::string_view> choice_names(FamilyChoice) {
    return family_choice_names;
}

/// A function of the config only, so that all ranks of a run choose alike.
[[nodiscard]] Family family_of(FamilyChoice choice, const MutationSettings& mutation);
/// The same for a run whose islands may differ.
[[nodiscard]] Family family_of(FamilyChoice choice, const VariationSettings& variation);

}  // namespace cambrian::evolve
