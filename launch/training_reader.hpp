#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cambrian/engine/train/trainer.hpp"
#include "cambrian/evolve/task.hpp"
#include "cambrian/launch/experiment_reader.hpp"

namespace cambrian::launch {

/// Which steps of a training are watched, and who is told.
struct WatchSettings {
    std::int64_t every = 0;   ///< Steps; 0: none is.
    std::int64_t window = 1;  ///< Watched steps that are told of together.
    bool to_file = false;     ///< Into observations.jsonl of the run directory, else the console.
};

/// A training, read and checked: what `cambrian train` makes of a config.
struct TrainingJob {
    std::string name;
    std::filesystem::path directory;
    std::shared_ptr<const evolve::Task> task;  ///< One with samples to learn from.
    Blueprint blueprint;
    TrainingSettings settings;
    WatchSettings watch;
    distributed::LogSettings log;  ///< A training has no individuals.csv.
    bool mixed = false;            ///< A resume may compute with other arithmetic.
    std::string identity_json;
    std::string resolved_json;
};

/// Checks a document against the schema, without the sections that only evolution reads, and fills
/// in what it leaves out. Throws ConfigError when it has one of them.
[[nodiscard]] ResolvedConfig resolve_training(
    const ConfigDocument& document, const Schema& schema,
    const Environment& environment = process_environment());
/// Whether a directory holds a run of `cambrian train`.
[[nodiscard]] bool holds_training(const std::filesystem::path& directory);
/// read_resumed of a training. Throws ConfigError for keys that only evolution reads.
[[nodiscard]] ResolvedConfig read_resumed_training(const std::filesystem::path& directory,
                                                   std::span<const std::string> overrides,
                                                   const Schema& schema,
                                                   std::vector<Difference>& changes);
/// Makes the task (reads its data) and the network, and checks that they fit. Throws ConfigError,
/// ShapeError or InputError.
[[nodiscard]] TrainingJob make_training(const ResolvedConfig& config, const Schema& schema,
                                        const evolve::TaskRegistry& tasks);

/// Throws ConfigError when a config is one of `cambrian train`.
void refuse_training(const ResolvedConfig& config);

}  // namespace cambrian::launch
