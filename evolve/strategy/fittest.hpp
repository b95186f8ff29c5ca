#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cambrian/evolve/strategy/scores.hpp"

namespace cambrian::evolve {

/// Positions of the fittest valid births, at most `count` of them, the fittest first, of equals the
/// one with the lower position. Linear however fitness is spread: what is compared with each other
/// are few births of nearly equal fitness.
[[nodiscard]] std::vector<std::uint32_t> fittest_positions(const Scores& scores, std::size_t count);

}  // namespace cambrian::evolve
