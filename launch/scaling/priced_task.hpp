#pragma once

#include <memory>

#include "cambrian/evolve/tasks/task.hpp"

namespace cambrian::launch {

/// What the evaluation of individuals takes.
struct Price {
    double seconds = 1e-3;  ///< Of one, in the mean.
    double spread = 0.0;    ///< Standard deviation of a lognormal distribution, in means.
    double slowness = 1.0;  ///< Of the rank: all takes so many times as long.
};

/// A task that looks at networks as another one does, and takes the time that it is told to take:
/// it sleeps (Clock::sleep). Fitness is the answer to one row of values.
[[nodiscard]] std::unique_ptr<evolve::Task> make_priced_task(const evolve::TaskSignature& signature,
                                                             const Price& price);

}  // namespace cambrian::launch
