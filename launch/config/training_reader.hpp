#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cambrian/evolve/runs/training_run.hpp"
#include "cambrian/evolve/tasks/task.hpp"
#include "cambrian/launch/config/config_differences.hpp"
#include "cambrian/launch/config/experiment_reader.hpp"

namespace cambrian::launch {

/// Checks a document against the schema and fills in what it leaves out, for `cambrian train`: the
/// sections that only evolution reads are left out, and named in `ignored`. Throws ConfigError.
[[nodiscard]] ResolvedConfig resolve_training(
    const ConfigDocument& document, const Schema& schema,
    const Environment& environment = process_environment());
/// The same for `cambrian evolve`, without the section of training.
[[nodiscard]] ResolvedConfig resolve_evolution(
    const ConfigDocument& document, const Schema& schema,
    const Environment& environment = process_environment());
/// Throw ConfigError when the command line sets what only the other command reads: a file may serve
/// both, but whoever sets a key by hand means the command at hand.
void refuse_overrides_of_evolution(const ConfigDocument& document);
void refuse_overrides_of_training(const Origins& origins);
/// Whether a config has the section of training, and whether it has one that only evolution reads.
[[nodiscard]] bool holds_training(const ConfigDocument& document);
[[nodiscard]] bool holds_evolution(const ConfigDocument& document);
/// A line naming the sections that were left out, which 'cambrian `reader`' reads; or nothing.
[[nodiscard]] std::string ignored_text(const ResolvedConfig& config, std::string_view reader);
/// Whether a directory holds a run of `cambrian train`.
[[nodiscard]] bool holds_training(const std::filesystem::path& directory);
/// read_resumed of a training. Throws ConfigError for keys that only evolution reads.
[[nodiscard]] ResolvedConfig read_resumed_training(const std::filesystem::path& directory,
                                                   std::span<const std::string> overrides,
                                                   const Schema& schema,
                                                   std::vector<Difference>& changes);
/// read_resumed of an evolution that goes on. Throws ConfigError for a section of training and for
/// a run that a program asks for, too.
[[nodiscard]] ResolvedConfig read_resumed_evolution(const std::filesystem::path& directory,
                                                    std::span<const std::string> overrides,
                                                    const Schema& schema,
                                                    std::vector<Difference>& changes);
/// Makes the task (reads its data) and the network, and checks that they fit. Throws ConfigError,
/// ShapeError or InputError.
/// @param resumed the directory of the training that goes on; empty: none.
[[nodiscard]] distributed::TrainingJob make_training(const ResolvedConfig& config,
                                                     const Schema& schema,
                                                     const evolve::TaskRegistry& tasks,
                                                     const std::filesystem::path& resumed = {});

}  // namespace cambrian::launch
