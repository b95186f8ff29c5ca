#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "cambrian/engine/train/trainer.hpp"
#include "cambrian/evolve/task.hpp"
#include "cambrian/launch/experiment_reader.hpp"

namespace cambrian::launch {

/// A training, read and checked: what `cambrian train` makes of a config.
struct TrainingJob {
    std::string name;
    std::filesystem::path directory;
    std::shared_ptr<const evolve::Task> task;  ///< One with samples to learn from.
    Blueprint blueprint;
    TrainingSettings settings;
    std::string identity_json;
    std::string resolved_json;
};

/// Checks a document against the schema, without the sections that only evolution reads, and fills
/// in what it leaves out. Throws ConfigError when it has one of them.
[[nodiscard]] ResolvedConfig resolve_training(
    const ConfigDocument& document, const Schema& schema,
    const Environment& environment = process_environment());
/// Makes the task (reads its data) and the network, and checks that they fit. Throws ConfigError,
/// ShapeError or InputError.
[[nodiscard]] TrainingJob make_training(const ResolvedConfig& config, const Schema& schema,
                                        const evolve::TaskRegistry& tasks);

/// Throws ConfigError when a config is one of `cambrian train`.
void refuse_training(const ResolvedConfig& config);

}  // namespace cambrian::launch
