#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/core/json/field.hpp"
#include "cambrian/engine/train/trainer.hpp"
#include "cambrian/evolve/runs/http_lines.hpp"
#include "cambrian/evolve/tasks/task.hpp"
#include "cambrian/evolve/variation/variation.hpp"

namespace cambrian::distributed {

/// Which steps of a training are watched, and who is told.
struct WatchSettings {
    std::int64_t every = 0;   ///< Steps; 0: none is.
    std::int64_t window = 1;  ///< Watched steps that are told of together.
    bool to_file = false;     ///< Into observations.jsonl of the run directory, else the console,
    std::optional<LoopbackAddress> to_address{};  ///< or whoever listens there.

    static constexpr auto fields = FieldTable{
        Field{"every", &WatchSettings::every, FieldRange{0.0, 1e9}},
        Field{"window", &WatchSettings::window, FieldRange{1.0, 1e9}},
    };
};

/// A training, read and checked.
struct TrainingJob {
    std::string name;
    std::filesystem::path directory;
    std::shared_ptr<const evolve::Task> task;  ///< One with samples to learn from.
    Blueprint blueprint;
    std::shared_ptr<const evolve::InitialNetworks> initial;  ///< Of network.initial; else null.
    TrainingSettings settings;
    WatchSettings watch;
    bool tensorboard = false;                     ///< Whether epochs.csv becomes events, too.
    std::vector<std::string> notes;               ///< What somebody should know at the start.
    std::vector<evolve::PluginIdentity> plugins;  ///< That the program has loaded.
    bool mixed = false;                           ///< A resume may compute with other arithmetic.
    std::string identity_json;
    std::string resolved_json;

    /// Whether all individuals start from the weights of network.initial.
    [[nodiscard]] bool keeps_weights() const { return initial && initial->keeps_weights; }
};

struct TrainingResult {
    std::int64_t epochs = 0;      ///< Done.
    std::int64_t individual = 0;  ///< The best one.
    double best_loss = 0.0;       ///< Its lowest watched loss.
    std::optional<Score> test;    ///< Of its best weights, where the task has test samples.
    bool interrupted = false;
};

/// Is told how a training gets on.
class TrainingReporter {
  public:
    virtual ~TrainingReporter() = default;
    /// What somebody must know, a line.
    virtual void warning(const std::string& text) = 0;
    /// What somebody may want to know, a line.
    virtual void note(const std::string& text) = 0;
    /// What the loss of the first epochs compares with.
    virtual void started(Part part, const Score& score) = 0;
    /// @param best individual with the lowest watched loss so far.
    virtual void epoch_done(const EpochReport& report, std::int64_t best, double seconds,
                            bool last) = 0;
};

/// Trains in the run directory: config.json, epochs.csv (a line for each individual and epoch, the
/// same bytes for any number of threads), timings.csv, best.cmb (the best individual at its best),
/// last.cmb (the same one at the end), events of TensorBoard where the job says so, initial.cmb (a
/// copy of network.initial, where there is one), training.cmb (what a resumed training goes on
/// from) and status.json. When `interrupt` becomes non-zero the training ends before its next step,
/// with what is done saved.
/// @param resume goes on with the training that the directory holds, from its last checkpoint:
/// tables and networks become the bytes they would have been. Throws InputError where there is none
/// or it is of another training, ConfigError where the arithmetic is another one. Without it throws
/// ConfigError where there is a run. Throws ConfigError at the end, too, when no epoch had a loss
/// that is a number.
[[nodiscard]] TrainingResult run_training(const TrainingJob& job, Backend& backend,
                                          TrainingReporter& reporter,
                                          const std::atomic<int>& interrupt, bool resume = false);

}  // namespace cambrian::distributed
