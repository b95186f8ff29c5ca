#pragma once

#include <atomic>
#include <iosfwd>
#include <optional>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/launch/training_reader.hpp"

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
/// last.cmb (the same one at the end) and status.json. Prints a line for an epoch, a few a second.
/// When `interrupt` becomes non-zero the training ends before its next step, with what is done
/// saved.
[[nodiscard]] TrainingResult run_training(const TrainingJob& job, Backend& backend,
                                          std::ostream& out, bool quiet,
                                          const std::atomic<int>& interrupt);

}  // namespace cambrian::launch
