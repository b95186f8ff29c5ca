#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/evolve/evaluation/family.hpp"
#include "cambrian/evolve/strategy/strategy.hpp"
#include "cambrian/evolve/tasks/task.hpp"
#include "cambrian/evolve/variation/variation.hpp"

namespace cambrian::distributed {

struct StopSettings {
    std::uint64_t generations = std::numeric_limits<std::uint64_t>::max();
    double fitness = std::numeric_limits<double>::infinity();  ///< Compared with the validated
                                                               ///< value where the task validates.
    std::uint64_t evaluations = std::numeric_limits<std::uint64_t>::max();
    double seconds = std::numeric_limits<double>::infinity();  ///< Over all resumes.
    bool require_solved = false;  ///< A run that ends below `fitness` exits with 6.
};

enum class Exchange : std::uint8_t { births, genomes };
enum class Reevaluate : std::uint8_t { automatic, always, never };

struct DistributionSettings {
    Exchange exchange = Exchange::births;
    std::uint64_t shard_size = 0;  ///< 0 = auto.
    double lease_seconds = 60.0;
    bool mixed = false;  ///< Ranks with different arithmetic fingerprints are allowed.
    /// Makes the backend that evaluates what the rank's own has no memory for; null: it fails.
    std::function<std::unique_ptr<Backend>()> fallback;
    std::string device;  ///< The GPU of this rank, for the table of ranks; empty: none.
};

struct CheckpointSettings {
    std::uint64_t every = 10;  ///< Generations; 0 = only at the end.
    double seconds = 300.0;
    std::uint64_t keep = 3;
};

enum class LoggedIndividuals : std::uint8_t { all, none };

/// What is written of a run beside its results.
struct LogSettings {
    LoggedIndividuals individuals = LoggedIndividuals::all;  ///< Lines of individuals.csv.
    double interval = 10.0;  ///< Seconds between lines of an output that is no terminal.
};

struct ValidationSettings {
    std::uint64_t every = 5;  ///< Generations; 0 = only at the end.
};

/// A run, read and checked: what launch makes of a config.
struct Experiment {
    std::string name;
    std::filesystem::path directory;
    std::uint64_t seed = 1;
    StopSettings stop;
    evolve::PopulationSettings population;
    Reevaluate reevaluate = Reevaluate::automatic;
    std::shared_ptr<const evolve::Task> task;
    evolve::VariationSettings variation;
    evolve::FamilyChoice family = evolve::FamilyChoice::automatic;
    ValidationSettings validation;
    DistributionSettings distribution;
    CheckpointSettings checkpoint;
    LogSettings log;
    std::vector<std::string> notes;  ///< What somebody should know at the start.
    std::string identity_json;  ///< The identity keys, compact and sorted: equal text, equal run.
    std::string resolved_json;  ///< The whole resolved config, for config.json.
};

/// What a resume and every rank must share: the identity keys, and under "content" the hashes of
/// what they name, the task's data, the founder and the initial network, which files may have
/// changed under an equal config.
[[nodiscard]] std::string run_identity(const Experiment& experiment);

}  // namespace cambrian::distributed
