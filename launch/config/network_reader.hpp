#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/evolve/tasks/task.hpp"
#include "cambrian/evolve/variation/variation.hpp"
#include "cambrian/launch/config/experiment_reader.hpp"

// The network that a config starts from, and the config that a network comes from.
namespace cambrian::launch {

/// What a run starts from.
struct Founder {
    Blueprint blueprint;
    std::shared_ptr<const evolve::InitialNetworks> initial;  ///< Of network.initial; else null.
    std::vector<std::string> notes;  ///< What somebody should know of its weights on this task.
    /// A file of network.initial that says which run it is of.
    struct OfRun {
        std::string name;
        bool genotype = false;
    };
    std::vector<OfRun> of_runs{};
};

/// What the section network describes beside network.initial. Throws ConfigError or ShapeError.
[[nodiscard]] Blueprint described_network(const Json& network, const evolve::TaskSignature& task);

/// What becomes of number formats and scales that nothing will ever have.
enum class IdleFormats : std::uint8_t {
    refused,  ///< They are no choice.
    kept,     ///< Of what has begun: it goes on as it is.
};
/// Kept where the directory that a config names holds a run.
[[nodiscard]] IdleFormats idle_formats(const ResolvedConfig& config);

/// The network of a config: those that network.initial names, read from their files, or else what
/// the section describes, which fits the task. Throws ConfigError, ShapeError or InputError.
/// @param resumed the directory of a run, whose copies of network.initial come before the
/// files; empty: none.
[[nodiscard]] Founder make_founder(const ResolvedConfig& config, const evolve::Task& task,
                                   IdleFormats idle = IdleFormats::refused,
                                   const std::filesystem::path& resumed = {});

/// Whether a config names network.initial.
[[nodiscard]] bool names_initial(const ResolvedConfig& config);
/// The founder when another rank has read network.initial.
[[nodiscard]] Founder founder_of(const ResolvedConfig& config, std::vector<evolve::Genome> initial);
/// Throws ConfigError where networks of runs are genotypes and those of this one are none, or the
/// other way round.
/// @param kind of the genomes of this one; null: a training.
void check_genotypes(const ResolvedConfig& config, const std::vector<Founder::OfRun>& networks,
                     const evolve::GenomeKind* kind);
/// Throws ConfigError or ShapeError where an initial network, null: none, does not fit the task.
/// Not for genotypes, which are no networks of the task.
void check_initial_fits(const ResolvedConfig& config, const evolve::Task& task,
                        const std::shared_ptr<const evolve::InitialNetworks>& initial);

/// A line on what a run that starts from a file keeps of it; empty for any other.
[[nodiscard]] std::string founder_text(const ResolvedConfig& config);

/// The config of the task that a network was evolved for: a config file when one is named; else the
/// config.json beside the network, when it belongs to the same run; else the identity in the file,
/// with relative paths from the working directory. Throws ConfigError when there is none.
[[nodiscard]] ResolvedConfig config_of_network(const std::string& network_path,
                                               const distributed::NetworkFile& network,
                                               const std::string& config_path,
                                               std::span<const std::string> overrides,
                                               const Schema& schema);

/// A network file with its name.
struct NamedNetwork {
    const std::string& path;
    const distributed::NetworkFile& file;
};

/// A line on a network whose preparation does not say how many rows ahead it tells.
/// @param taken_as "it is taken to answer for t+5"
[[nodiscard]] std::string silent_forecast_note(const std::string& path, std::string_view taken_as);

/// What a network has learnt otherwise than a task gives it: a line where constants of scaling
/// differ, or where nobody knows whether it forecasts what the task does; empty where nothing does
/// or one of the two says nothing. Throws ConfigError for other columns, answers or classes.
[[nodiscard]] std::string preparation_note(const NamedNetwork& network, const evolve::Task& task);

}  // namespace cambrian::launch
