#pragma once

#include <atomic>
#include <iosfwd>
#include <optional>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/launch/config/training_reader.hpp"

namespace cambrian::launch {

struct TrainingResult {
    std::int64_t epochs = 0;      ///< Done.
    std::int64_t individual = 0;  ///< The best one.
    double best_loss = 0.0;       ///< Its lowest watched loss.
    std::optional<Score> test;    ///< Of its best weights, where the task has test samples.
    bool interrupted = false;
};

/// Trains in the run directory: config.json, epochs.csv (a line for each individual and epoch, the
/// same bytes for any number of threads), timings.csv, best.cmb (the best individual at its best),
/// last.cmb (the same one at the end), initial.cmb (a copy of network.initial, where there is one),
/// training.cmb (what a resumed training goes on from) and status.json. Prints lines of epochs as
/// often as the job says, the first and the last always. When `interrupt` becomes non-zero the
/// training ends before its next step, with what is done saved.
/// @param resume goes on with the training that the directory holds, from its last checkpoint:
/// tables and networks become the bytes they would have been. Throws InputError where there is none
/// or it is of another training, ConfigError where the arithmetic is another one. Without it throws
/// ConfigError where there is a run. Throws ConfigError at the end, too, when no epoch had a loss
/// that is a number.
[[nodiscard]] TrainingResult run_training(const TrainingJob& job, Backend& backend,
                                          std::ostream& out, bool quiet,
                                          const std::atomic<int>& interrupt, bool resume = false);

}  // namespace cambrian::launch
