#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cambrian/evolve/tasks/task.hpp"
#include "cambrian/evolve/variation/variation.hpp"
#include "cambrian/launch/config/experiment_reader.hpp"

namespace cambrian::launch {

/// What a run starts from.
struct Founder {
    Blueprint blueprint;
    std::shared_ptr<const evolve::InitialNetwork> initial;  ///< Of network.initial; else null.
    std::vector<std::string> notes;  ///< What somebody should know of its weights on this task.
};

/// The network of a config, which fits the task: what network.initial names, read from its file,
/// or else what the section describes. Throws ConfigError, ShapeError or InputError.
/// @param resumed the directory of a run, whose copy of network.initial comes before the file;
/// empty: none.
[[nodiscard]] Founder make_founder(const ResolvedConfig& config, const evolve::Task& task,
                                   const std::filesystem::path& resumed = {});

/// Whether a config names network.initial.
[[nodiscard]] bool names_initial(const ResolvedConfig& config);
/// The founder when another rank has read network.initial.
[[nodiscard]] Founder founder_of(const ResolvedConfig& config, const evolve::Task& task,
                                 evolve::Genome initial);

/// A line on what a run that starts from a file keeps of it; empty for any other.
[[nodiscard]] std::string founder_text(const ResolvedConfig& config);

}  // namespace cambrian::launch
