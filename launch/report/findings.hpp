#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cambrian/evolve/tasks/task.hpp"
#include "cambrian/launch/report/data/ancestry.hpp"
#include "cambrian/launch/report/replay.hpp"

namespace cambrian::launch {

/// A loss beside those of simple predictors.
struct PhaseLosses {
    evolve::Phase phase = evolve::Phase::train;
    double loss = 0.0;  ///< Of the best network; not finite: it has none.
    std::vector<evolve::Task::Baseline> baselines;
};

/// A network of the checkpoint, with what it costs.
struct PricedNetwork {
    double fitness = 0.0;
    double parameters = 0.0;
    double bytes = 0.0;     ///< Of its weights as stored.
    double products = 0.0;  ///< Multiplications of one evaluation.
};

/// What is not in the tables of a run: found by reading its larger files, and by running its best
/// network once more.
struct Findings {
    Ancestry ancestry;
    std::vector<PhaseLosses> losses;
    std::optional<Replay> replay;
    std::vector<PricedNetwork> kept;  ///< Those that the checkpoint keeps.
    std::vector<std::string> notes;   ///< What is missing, and why, a sentence each.
};

}  // namespace cambrian::launch
