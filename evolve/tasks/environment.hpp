#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/core/json/field_json.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/evolve/tasks/picture.hpp"
#include "cambrian/evolve/tasks/task.hpp"

namespace cambrian::evolve {

/// What one step of an environment gives, for a batch of episodes.
struct EnvironmentStep {
    std::vector<Var> state;
    Var reward;  ///< real [episodes]
    Var done;    ///< boolean [episodes]
};

class Environment;

/// The numbers of one episode, tensor by tensor as Environment::reset gives them.
using EpisodeState = std::span<const std::vector<double>>;

/// What a network must do to solve an environment.
struct Solution {
    /// Train fitness from which a network is worth the test; see SolvedTest.
    double candidate = 0.0;
    /// What its fitness in the test must reach.
    double passes = 0.0;
    Phase phase = Phase::champion;  ///< Phase::train: the train fitness is the test.
    /// Environments of the test, each with episodes as long as it defines them: fitness is the
    /// product of what the network gets in each; none begins after one that gave 0. Empty: the
    /// environment itself.
    std::vector<std::shared_ptr<const Environment>> tests{};
};

/// A world written as a graph, for a batch of episodes at once.
class Environment {
  public:
    virtual ~Environment() = default;
    [[nodiscard]] virtual std::string_view type() const = 0;
    [[nodiscard]] virtual std::int64_t observations() const = 0;
    /// Width of the network's output; the environment maps it to an action (discrete: argmax).
    [[nodiscard]] virtual std::int64_t outputs() const = 0;
    /// Uniform draws an episode's start needs; 0: a run has no other starts than starts().
    [[nodiscard]] virtual std::int64_t reset_draws() const = 0;
    /// Episodes that differ, where no start is drawn.
    [[nodiscard]] virtual std::int64_t starts() const { return 1; }
    /// Longest episode, as the environment is defined.
    [[nodiscard]] virtual std::int64_t steps() const { return 500; }
    /// Longest episode that its arithmetic stands, such as an angle that only grows.
    [[nodiscard]] virtual std::int64_t most_steps() const { return 1'000'000; }
    /// draws real [episodes, reset_draws] in [0, 1), or [episodes, 1] of zeros where it needs none
    /// → state, each [episodes, ...].
    [[nodiscard]] virtual std::vector<Var> reset(Var draws) const = 0;
    /// → real [episodes, observations]
    [[nodiscard]] virtual Var observe(std::span<const Var> state) const = 0;
    /// network output real [episodes, outputs]
    [[nodiscard]] virtual EnvironmentStep step(std::span<const Var> state, Var output) const = 0;
    /// What episodes are worth, real [episodes], by the state they ended in and the sums of their
    /// rewards. Of a test that does not begin, see Solution::tests, it is asked, too.
    [[nodiscard]] virtual Var score(std::span<const Var>, Var returns) const { return returns; }
    /// The fitness of a network, rank 0, from the scores of its episodes: their mean. A quotient,
    /// so that the mean of equal scores whose sum float32 holds is each of them.
    [[nodiscard]] virtual Var fitness(Var scores) const {
        return sum_all(scores) / constant(*scores.graph, static_cast<double>(scores.shape()[0]));
    }
    /// Nothing where nobody says what solves it.
    [[nodiscard]] virtual std::optional<Solution> solution() const { return std::nullopt; }
    /// The largest score of so many steps of an episode; 0 where nobody says, or where
    /// fewer of them cost nothing.
    [[nodiscard]] virtual double max_score(std::int64_t) const { return 0.0; }
    /// What a state looks like (`cambrian report`); nothing where it cannot be drawn. What never
    /// changes comes first: it is stored once.
    [[nodiscard]] virtual std::optional<Picture> picture(EpisodeState) const {
        return std::nullopt;
    }
};

/// Whether every generation has episodes of its own, common to all individuals.
enum class EpisodeSeeds : std::uint8_t { per_generation, fixed };
inline constexpr std::array<std::string_view, 2> episode_seeds_names{"per_generation", "fixed"};
[[nodiscard]] constexpr std::span<const std::string_view> choice_names(EpisodeSeeds) {
    return episode_seeds_names;
}

struct RolloutValidation {
    std::uint64_t every = ValidationSettings{}.every;
    std::int64_t episodes = 100;

    static constexpr auto fields = FieldTable{
        Field{"every", &RolloutValidation::every, FieldRange{1.0, 1e9},
              "Generations between validations. The last one is validated too, and one whose "
              "best does not live on, as before a restart."},
        Field{"episodes", &RolloutValidation::episodes, FieldRange{1.0, 1e6},
              "Episodes of a validation."},
    };
};

struct RolloutChampion {
    std::int64_t episodes = 100;

    static constexpr auto fields = FieldTable{
        Field{"episodes", &RolloutChampion::episodes, FieldRange{1.0, 1e6},
              "Fresh episodes of the test, each as long as the environment defines it."},
    };
};

/// What the task of an environment reads.
struct RolloutSettings {
    std::int64_t episodes = 5;
    std::int64_t steps = 0;
    EpisodeSeeds episode_seeds = EpisodeSeeds::per_generation;
    RolloutValidation validation{};
    RolloutChampion champion{};

    static constexpr auto fields = FieldTable{
        Field{"episodes", &RolloutSettings::episodes, FieldRange{1.0, 1e6},
              "Episodes of an evaluation; fitness is their mean score."},
        Field{"steps", &RolloutSettings::steps, FieldRange{0.0, 1e6},
              "Longest episode; 0: as the environment is defined."},
        Field{"episode_seeds", &RolloutSettings::episode_seeds,
              "per_generation: fresh starts in every generation, common to all individuals; fixed: "
              "the same in the whole run."},
        Field{"validation", &RolloutSettings::validation, "The best individual on fresh episodes."},
        Field{"champion", &RolloutSettings::champion,
              "The test that tells whether a network solves the task."},
    };
};

/// What it reads where no start is drawn: every evaluation is the same.
struct FixedStartSettings {
    std::int64_t steps = 0;

    static constexpr auto fields = FieldTable{
        Field{"steps", &FixedStartSettings::steps, FieldRange{0.0, 1e6},
              "Longest episode; 0: as the environment is defined."},
    };
};

/// A task that runs whole episodes in one scan: fitness = mean score; finished episodes freeze;
/// episode starts are common to all individuals of a generation; validation uses fresh episodes,
/// Phase::champion the test of Environment::solution. Throws ConfigError for more steps than the
/// environment stands.
[[nodiscard]] std::unique_ptr<Task> make_rollout_task(
    std::shared_ptr<const Environment> environment, const RolloutSettings& settings);

/// The environment that a task runs; null for other tasks.
[[nodiscard]] const Environment* environment_of(const Task& task);

/// Episodes of one network, step by step.
struct RolloutRecord {
    Var scores;              ///< Of the whole episodes, real [episodes].
    Var steps;               ///< Of the whole episodes, integer [episodes].
    std::vector<Var> start;  ///< The state, each [episodes, ...].
    /// After each of the first steps, each [recorded, episodes, ...]; an episode that is over
    /// stands still.
    std::vector<Var> states;
};
/// Appends the episodes that Task::build has in a phase, those of the environment itself, whose
/// first steps can be seen.
/// @param max_steps recorded at most; fewer where the state is large.
/// Contract: environment_of(task) is not null.
[[nodiscard]] RolloutRecord record_rollout(const Task& task, const ObjectiveContext& context,
                                           Phase phase, std::int64_t max_steps);

/// How an environment comes about, and the keys of its own that a config may hold.
struct EnvironmentKind {
    std::vector<std::string_view> keys;
    /// Refuses wrong values and keys that are neither its own nor among `others`.
    std::function<std::unique_ptr<Environment>(const nlohmann::json& task,
                                               std::span<const std::string_view> others)>
        make;
    /// Adds what the schema of configs says of its keys.
    std::function<void(nlohmann::ordered_json& properties)> describe;
};

/// The keys of settings, a struct with `fields`.
template <field_json::Listed Settings>
[[nodiscard]] std::vector<std::string_view> setting_keys() {
    std::vector<std::string_view> keys;
    field_json::for_each_field<Settings>([&](const auto& field) { keys.push_back(field.name); });
    return keys;
}

/// The type of task that runs an environment, named as it names itself.
/// @param usual the environment with its default settings.
[[nodiscard]] TaskKind rollout_task(const Environment& usual, EnvironmentKind kind,
                                    std::string meaning, const RolloutSettings& defaults);
/// The same for an environment that has settings, a struct with `fields`.
template <field_json::Listed Settings>
[[nodiscard]] TaskKind rollout_task(
    std::function<std::unique_ptr<Environment>(const Settings&)> environment, std::string meaning,
    const RolloutSettings& defaults = {}) {
    EnvironmentKind kind{.keys = setting_keys<Settings>(), .make = {}, .describe = {}};
    kind.make = [environment](const nlohmann::json& task,
                              std::span<const std::string_view> others) {
        Settings settings;
        field_json::read_fields(settings, task, "task", others);
        return environment(settings);
    };
    kind.describe = [](nlohmann::ordered_json& properties) {
        field_json::describe_fields<Settings>(properties);
    };
    return rollout_task(*environment(Settings{}), std::move(kind), std::move(meaning), defaults);
}
/// The same for one that has none.
[[nodiscard]] TaskKind rollout_task(std::function<std::unique_ptr<Environment>()> environment,
                                    std::string meaning);

}  // namespace cambrian::evolve
