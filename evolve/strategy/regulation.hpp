#pragma once

#include <cstdint>
#include <memory>

#include "cambrian/evolve/strategy/strategy.hpp"
#include "cambrian/evolve/variation/complexity.hpp"

// Phased search (Green 2004, "Phased Searching with NEAT"): any strategy, whose births gain genes
// or lose them by turns.
namespace cambrian::evolve {

/// Where a search is between two generations.
struct SearchPhase {
    bool simplifies = false;      ///< Births lose genes, else they may gain some.
    double floor = 0.0;           ///< Mean complexity that the ceiling is above.
    double lowest = 0.0;          ///< The least mean since genes are lost,
    std::uint64_t lowest_at = 0;  ///< and its generation.
    bool begun = false;           ///< Whether a generation with valid births was told.
    bool operator==(const SearchPhase&) const = default;
};

/// The phase after a generation whose valid births had so many genes on average.
[[nodiscard]] SearchPhase next_phase(const SearchPhase& phase, const ComplexitySettings& settings,
                                     double mean, std::uint64_t generation);

/// The mean complexity of the valid births that were not carried over.
struct MeanComplexity {
    std::uint64_t genes = 0;
    std::uint64_t births = 0;
    [[nodiscard]] double mean() const {
        return births == 0 ? 0.0 : static_cast<double>(genes) / static_cast<double>(births);
    }
};
[[nodiscard]] MeanComplexity mean_complexity(const Strategy& strategy, const Scores& scores);

/// A strategy whose births go through phases by their complexity. Its decisions are a few
/// bytes longer.
[[nodiscard]] std::unique_ptr<Strategy> make_regulated(std::unique_ptr<Strategy> strategy,
                                                       const ComplexitySettings& settings);

}  // namespace cambrian::evolve
