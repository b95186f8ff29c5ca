#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "cambrian/evolve/strategy/strategy.hpp"

// Populations of species for the tests of their strategy.
namespace cambrian::evolve::species_tests {

using Shared = std::shared_ptr<const Strategy>;

inline Shared make(const SpeciesSettings& settings, std::uint64_t size = 10,
                   float splice_rate = 0.5F, const IslandSettings& islands = {},
                   const SelectionSettings& selection = {}) {
    return standard_strategies().make("species", {.seed = 1,
                                                  .population = {.size = size},
                                                  .splice_rate = splice_rate,
                                                  .islands = islands,
                                                  .selection = selection,
                                                  .species = settings});
}

/// Ten founders in three species of 6, 3 and 1, whose shared fitness is 1, 3 and 6.
inline Scores founders() {
    Scores scores(10);
    std::ranges::fill(scores.status, Status::ok);
    scores.species = {0, 0, 1, 0, 2, 1, 1, 0, 0, 0};
    scores.fitness = {1.0, 1.0, 3.0, 1.0, 6.0, 4.0, 2.0, 1.0, 1.0, 1.0};
    return scores;
}

inline Shared after(const Shared& subject, const Scores& scores) {
    ThreadPool threads(1);
    return subject->apply(subject->decide(scores, threads));
}

/// Every birth is of the species of its first parent, founders are of one. For one island.
inline Scores faithful(const Strategy& subject, double fitness = 1.0) {
    Scores scores(subject.births());
    std::ranges::fill(scores.status, Status::ok);
    std::ranges::fill(scores.fitness, fitness);
    std::vector<std::size_t> first_places;
    for (const SpeciesSummary& one : subject.species()) {
        if (one.champion) {
            first_places.push_back(index_of(*one.champion));
        }
    }
    for (std::uint64_t position = 0; position < subject.births(); ++position) {
        const Parents parents = subject.birth(position).parents;
        if (parents.empty()) {
            scores.species.push_back(0);
            continue;
        }
        const auto later = std::ranges::upper_bound(first_places, index_of(parents.front().place));
        scores.species.push_back(static_cast<std::uint32_t>(later - first_places.begin()) - 1);
    }
    return scores;
}

}  // namespace cambrian::evolve::species_tests
