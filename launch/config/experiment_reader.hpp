#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cambrian/distributed/experiment.hpp"
#include "cambrian/evolve/tasks/task.hpp"
#include "cambrian/launch/config/config_file.hpp"
#include "cambrian/launch/config/schema.hpp"
#include "cambrian/launch/config/task_changes.hpp"

namespace cambrian::launch {

/// A config that was checked.
struct ResolvedConfig {
    /// Every key, as it was written: `${NAME}` stays, so that a run may move to another machine.
    std::shared_ptr<const Json> written;
    /// The same with every text expanded: what this process works with.
    std::shared_ptr<const Json> effective;
    std::filesystem::path base_directory;  ///< Where relative data paths start.
    Origins origins{""};
    /// Sections that another command reads, such as "training"; they are in neither of the two.
    std::vector<std::string> ignored{};
    /// What task.changes makes of the section task.
    std::vector<ChangedTask> changes{};
};

/// Checks a document against the schema and fills in what it leaves out.
[[nodiscard]] ResolvedConfig resolve(const ConfigDocument& document, const Schema& schema,
                                     const Environment& environment = process_environment());

/// The task of a config, that of generation 0 where it changes. Reads its data, too. Throws
/// ConfigError or InputError.
[[nodiscard]] std::shared_ptr<const evolve::Task> make_task(const ResolvedConfig& config,
                                                            const evolve::TaskRegistry& tasks);

/// The same on all rows, where a generation draws some (Task::whole): for networks that are judged
/// outside of an evolution.
[[nodiscard]] std::shared_ptr<const evolve::Task> make_whole_task(
    const ResolvedConfig& config, const evolve::TaskRegistry& tasks);

/// All tasks of a config. Throws ConfigError or InputError.
[[nodiscard]] evolve::TaskSchedule make_tasks(const ResolvedConfig& config,
                                              const evolve::TaskRegistry& tasks);

/// Throws ConfigError where a config names plug-ins and the program has loaded none.
void check_plugins(const Json& config, const std::vector<evolve::PluginIdentity>& loaded);

struct Founder;
/// What an experiment is made for; only evolution changes networks.
enum class Purpose : std::uint8_t { evolve, evaluate };
/// All of an experiment of its tasks and of what it starts from. Throws ConfigError.
[[nodiscard]] distributed::Experiment make_experiment(
    const ResolvedConfig& config, const Schema& schema, evolve::TaskSchedule tasks, Founder founder,
    Purpose purpose = Purpose::evolve,
    const evolve::StrategyRegistry& strategies = evolve::standard_strategies(),
    const evolve::GenomeRegistry& genomes = evolve::standard_genomes());
/// Makes the task (reads its data) and the starting network, and checks that they fit. Throws
/// ConfigError, ShapeError or InputError.
[[nodiscard]] distributed::Experiment make_experiment(
    const ResolvedConfig& config, const Schema& schema, const evolve::TaskRegistry& tasks,
    const evolve::StrategyRegistry& strategies = evolve::standard_strategies(),
    const evolve::GenomeRegistry& genomes = evolve::standard_genomes());

/// A value as a part of the name of a folder: a dash for each slash and brace.
[[nodiscard]] std::string part_of_name(std::string value);

/// run.directory with each key in braces replaced by its value: {name} and {seed} are those of run,
/// others are written in full, {population.size}. A value is a part of one name.
/// Throws ConfigError for a key that the config does not have, with the nearest one, and for one
/// that is a section or a list.
/// @param config with every default.
[[nodiscard]] std::string run_directory(const Json& config, const Schema& schema,
                                        const Origins& origins);

}  // namespace cambrian::launch
