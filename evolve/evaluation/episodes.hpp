#pragma once

#include <cstdint>
#include <optional>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/evolve/evaluation/evaluator.hpp"
#include "cambrian/evolve/tasks/picture.hpp"

namespace cambrian::evolve {

/// Whether anybody can draw the episodes of a task: its environment, or itself (VisibleTask).
[[nodiscard]] bool is_visible(const Task& task);

/// What an Evaluator is made of, see there.
struct EpisodeSetting {
    Backend& backend;
    const Task& task;
    std::uint64_t seed = 0;
    Family family = Family::graph;
};

/// The best of the episodes that a network has in a round (of equal ones the first), by the scores
/// that an Evaluator gives, with pictures of its first steps. Nothing where the task is not
/// visible.
[[nodiscard]] std::optional<DrawnEpisode> best_episode(const EpisodeSetting& setting,
                                                       const Genome& genome,
                                                       const EvaluationRound& round,
                                                       std::int64_t max_steps);

}  // namespace cambrian::evolve
