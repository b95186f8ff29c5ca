#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

#include "cambrian/evolve/strategy/strategy.hpp"
#include "cambrian/evolve/tasks/task.hpp"
#include "cambrian/evolve/variation/genome_kind.hpp"
#include "cambrian/launch/config/schema.hpp"
#include "cambrian/launch/trials/trial.hpp"

namespace cambrian::launch {

struct TrialsOptions {
    std::string config;
    std::uint64_t runs = 0;
    std::uint64_t first_seed = 1;
    std::uint64_t jobs = 0;  ///< Runs at a time; 0: as many as are good here.
    std::string directory;   ///< With keys in braces, as run.directory; empty: trials/{name}.
    bool quiet = false;
    std::vector<std::string> overrides;
};

/// What trials work with, and where they say how they stand.
struct TrialsContext {
    const evolve::TaskRegistry& tasks;
    const evolve::StrategyRegistry& strategies;
    const evolve::GenomeRegistry& genomes;
    std::ostream& out;
    std::ostream& err;
};

struct TrialsDone {
    std::vector<Trial> trials;  ///< Of the wanted seeds, those that have ended.
    std::string directory;
    bool interrupted = false;
};

/// Checks the config of a set of trials, and makes its task and network; → the directory that they
/// will have. Throws what `cambrian validate` does, and ConfigError where a run would never end.
std::filesystem::path check_trials(const TrialsContext& context, const Schema& schema,
                                   const TrialsOptions& options);

/// Runs the seeds that the directory of the trials does not hold, several at a time, each as
/// `cambrian evolve` would run it on one rank. Where it is interrupted, runs under way end with a
/// checkpoint, from which they go on the next time.
/// Throws what check_trials does, and the first error of a run, after the others have ended so.
[[nodiscard]] TrialsDone run_trials(const TrialsContext& context, const Schema& schema,
                                    const TrialsOptions& options,
                                    const std::atomic<int>& interrupt);

}  // namespace cambrian::launch
