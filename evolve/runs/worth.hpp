#pragma once

#include <optional>

#include "cambrian/evolve/variation/birth.hpp"

namespace cambrian::distributed {

/// What a run chooses its champion by.
struct Worth {
    double fitness = evolve::worst_fitness;
    std::optional<double> validated;
};

/// Whether a validated network beats one that is not, else whether the compared value is higher.
[[nodiscard]] inline bool better(const Worth& challenger, const Worth& champion) {
    if (challenger.validated.has_value() != champion.validated.has_value()) {
        return challenger.validated.has_value();
    }
    return challenger.validated ? *challenger.validated > *champion.validated
                                : challenger.fitness > champion.fitness;
}

}  // namespace cambrian::distributed
