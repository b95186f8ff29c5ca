#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/evolve/evaluation/family.hpp"
#include "cambrian/evolve/evaluation/learner.hpp"
#include "cambrian/evolve/strategy/strategy.hpp"
#include "cambrian/evolve/tasks/task.hpp"
#include "cambrian/evolve/tasks/task_changes.hpp"
#include "cambrian/evolve/variation/variation.hpp"

namespace cambrian::distributed {

/// Whose fitness StopSettings::fitness is compared with. best: the validated value where the task
/// validates; mean: of the valid fitnesses of a generation; least: of all, never reached by a
/// generation in which one is not valid.
enum class FitnessOf : std::uint8_t { best, mean, least };
inline constexpr std::array<std::string_view, 3> fitness_of_names{"best", "mean", "least"};
[[nodiscard]] constexpr std::span<const std::string_view> choice_names(FitnessOf) {
    return fitness_of_names;
}

struct StopSettings {
    std::uint64_t generations = std::numeric_limits<std::uint64_t>::max();
    double fitness = std::numeric_limits<double>::infinity();
    FitnessOf fitness_of = FitnessOf::best;
    bool solved = false;           ///< When the best of a generation passes the test of the task.
    std::uint64_t candidates = 1;  ///< Of the births of a generation, the fittest, that are tested.
    std::uint64_t evaluations = std::numeric_limits<std::uint64_t>::max();
    double seconds = std::numeric_limits<double>::infinity();  ///< Over all resumes.
    bool require_solved = false;  ///< A run that ends unsolved, or below `fitness`, exits with 6.
};

enum class Exchange : std::uint8_t { births, genomes };
inline constexpr std::array<std::string_view, 2> exchange_names{"births", "genomes"};
[[nodiscard]] constexpr std::span<const std::string_view> choice_names(Exchange) {
    return exchange_names;
}
enum class Reevaluate : std::uint8_t { automatic, always, never };
inline constexpr std::array<std::string_view, 3> reevaluate_names{"auto", "always", "never"};
[[nodiscard]] constexpr std::span<const std::string_view> choice_names(Reevaluate) {
    return reevaluate_names;
}

/// Whether another rank goes on where the coordinator dies.
enum class Takeover : std::uint8_t { automatic, never };
inline constexpr std::array<std::string_view, 2> takeover_names{"auto", "never"};
[[nodiscard]] constexpr std::span<const std::string_view> choice_names(Takeover) {
    return takeover_names;
}

// The tables `fields` are the keys of the sections of a config, see engine/core/json/field.hpp.

struct DistributionSettings {
    Exchange exchange = Exchange::births;
    std::uint64_t shard_size = 0;  ///< 0 = auto.
    double lease_seconds = 60.0;
    Takeover takeover = Takeover::automatic;
    /// A coordinator that is silent, stopped, and on the host of its successor is killed by that.
    bool kill_stopped = false;
    bool mixed = false;  ///< Ranks with different arithmetic fingerprints are allowed.
    /// Makes the backend that evaluates what the rank's own has no memory for; null: it fails.
    std::function<std::unique_ptr<Backend>()> fallback;
    std::string device;  ///< The GPU of this rank, for the table of ranks; empty: none.

    static constexpr auto fields = FieldTable{
        Field{"exchange", &DistributionSettings::exchange},
        Field{"lease_seconds", &DistributionSettings::lease_seconds},
        Field{"takeover", &DistributionSettings::takeover},
        Field{"kill_stopped", &DistributionSettings::kill_stopped},
    };
};

struct CheckpointSettings {
    std::uint64_t every = 10;  ///< Generations; 0: no number of them makes one due.
    double seconds = 300.0;
    std::uint64_t keep = 3;
    /// Of the states since the last one, which are in memory until the next: with more one is due.
    /// No key.
    std::size_t max_held_bytes = std::size_t{512} << 20U;

    static constexpr auto fields = FieldTable{
        Field{"every", &CheckpointSettings::every},
        Field{"seconds", &CheckpointSettings::seconds},
        Field{"keep", &CheckpointSettings::keep},
    };
};

/// Whom individuals.cmb has of each generation; survivors: those that its decision keeps.
enum class LoggedIndividuals : std::uint8_t { all, survivors, none };
inline constexpr std::array<std::string_view, 3> logged_individuals_names{"all", "survivors",
                                                                          "none"};
[[nodiscard]] constexpr std::span<const std::string_view> choice_names(LoggedIndividuals) {
    return logged_individuals_names;
}

/// What is written of a run beside its results.
struct LogSettings {
    LoggedIndividuals individuals = LoggedIndividuals::survivors;
    double interval = 10.0;    ///< Seconds between lines of an output that is no terminal.
    bool tensorboard = false;  ///< Whether there are events for TensorBoard.

    static constexpr auto fields = FieldTable{
        Field{"individuals", &LogSettings::individuals},
        Field{"interval", &LogSettings::interval},
        Field{"tensorboard", &LogSettings::tensorboard},
    };
};

/// A run, read and checked: what launch makes of a config.
struct Experiment {
    std::string name;
    std::filesystem::path directory;
    std::uint64_t seed = 1;
    StopSettings stop;
    evolve::StrategyRegistry strategies = evolve::standard_strategies();
    std::string strategy = "elite";     ///< Of the registry.
    std::string genome = "volumetric";  ///< Kind of genome: a name of its registry.
    evolve::PopulationSettings population;
    evolve::IslandSettings islands;
    evolve::SteadyStateSettings steady_state;
    evolve::SelectionSettings selection;
    evolve::AgeLayerSettings age_layers;
    evolve::SpeciesSettings species;
    Reevaluate reevaluate = Reevaluate::automatic;
    std::shared_ptr<const evolve::Task> task;   ///< From generation 0 on.
    std::vector<evolve::TaskChange> changes{};  ///< The tasks after it.
    evolve::VariationSettings variation;
    evolve::LearningSettings learning;
    evolve::FamilyChoice family = evolve::FamilyChoice::automatic;
    evolve::ValidationSettings validation;
    DistributionSettings distribution;
    CheckpointSettings checkpoint;
    LogSettings log;
    std::vector<std::string> notes;               ///< What somebody should know at the start.
    std::vector<evolve::PluginIdentity> plugins;  ///< That the program has loaded.
    std::string identity_json;  ///< The identity keys, compact and sorted: equal text, equal run.
    std::string resolved_json;  ///< The whole resolved config, for config.json.

    /// Whether births that are carried over are evaluated again in every generation: as they are
    /// in the first of a task whatever is set.
    [[nodiscard]] bool reevaluates() const;
    /// How many changes of the task a generation comes after.
    [[nodiscard]] std::size_t task_number(std::uint64_t generation) const {
        return evolve::changes_until(changes, generation);
    }
    /// What judges a generation.
    [[nodiscard]] const std::shared_ptr<const evolve::Task>& task_at(
        std::uint64_t generation) const {
        const std::size_t number = task_number(generation);
        return number == 0 ? task : changes[number - 1].task;
    }
    /// Whether any of its tasks is evaluated on the host.
    [[nodiscard]] bool runs_on_host() const;
    /// Whether the task changes no more after a generation: only then do run.stop.fitness and
    /// run.stop.solved end the run.
    [[nodiscard]] bool has_last_task(std::uint64_t generation) const {
        return task_number(generation) == changes.size();
    }
};

/// The first generation of each task but the first one.
[[nodiscard]] std::vector<std::uint64_t> first_generations(
    std::span<const evolve::TaskChange> changes);

/// Throws ConfigError where the task of a run cannot change as it says.
void check_changes(const Experiment& experiment);

/// Throws ConfigError where no file of a network could be read, see evolve::check_preparation.
void check_preparations(const Experiment& experiment);

/// Throws ConfigError where `stop.solved` asks for a test that the task does not have, or that no
/// network passes.
void check_stop(const Experiment& experiment);

/// What a network's train fitness loses for its size, see SelectionSettings.
[[nodiscard]] double price_of(const Experiment& experiment, const evolve::Structure& structure);
/// Whether any of it does.
[[nodiscard]] inline bool has_prices(const Experiment& experiment) {
    return experiment.selection.bytes_weight > 0.0 || experiment.selection.products_weight > 0.0;
}
/// Whether multiplications of an evaluation cost fitness.
[[nodiscard]] inline bool prices_products(const Experiment& experiment) {
    return experiment.selection.products_weight > 0.0;
}
/// Whether a genome is more than its birth says: children inherit what their parents have learned.
[[nodiscard]] inline bool inherits_learning(const Experiment& experiment) {
    return experiment.learning.mode == evolve::LearningMode::lamarckian;
}
/// Throws ConfigError where the individuals of an experiment cannot learn as it says.
void check_learning(const Experiment& experiment);

/// The network that a run starts from; of a genotype the one that develops from it.
[[nodiscard]] Blueprint first_network(const Experiment& experiment);

/// The strategy of a run before its first generation. Throws ConfigError for settings that
/// contradict each other.
[[nodiscard]] std::unique_ptr<evolve::Strategy> make_strategy(const Experiment& experiment);

/// What a resume and every rank must share: the identity keys, and under "content" the hashes of
/// what they name, the task's data, the founder and the initial network, which files may have
/// changed under an equal config.
[[nodiscard]] std::string run_identity(const Experiment& experiment);

}  // namespace cambrian::distributed
