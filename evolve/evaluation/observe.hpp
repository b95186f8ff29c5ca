#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/network/observe/observation.hpp"
#include "cambrian/evolve/genome/genome.hpp"

namespace cambrian::evolve {

/// What the slots of one network give over rows, as `infer` runs them (evaluator.hpp): one
/// observation for each slot and the head.
[[nodiscard]] std::vector<Observation> observe(Backend& backend, const Genome& genome,
                                               std::span<const float> inputs, std::int64_t batch,
                                               std::int64_t time);

}  // namespace cambrian::evolve
