#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/evolve/tasks/task.hpp"

namespace cambrian::evolve {

/// What one step of an environment gives, for a batch of episodes.
struct EnvironmentStep {
    std::vector<Var> state;
    Var reward;  ///< real [episodes]
    Var done;    ///< boolean [episodes]
};

/// A world written as a graph, for a batch of episodes at once.
class Environment {
  public:
    virtual ~Environment() = default;
    [[nodiscard]] virtual std::string_view type() const = 0;
    [[nodiscard]] virtual std::int64_t observations() const = 0;
    /// Width of the network's output; the environment maps it to an action (discrete: argmax).
    [[nodiscard]] virtual std::int64_t outputs() const = 0;
    /// Uniform draws an episode's start needs.
    [[nodiscard]] virtual std::int64_t reset_draws() const = 0;
    /// draws real [episodes, reset_draws] in [0, 1) → state, each [episodes, ...].
    [[nodiscard]] virtual std::vector<Var> reset(Var draws) const = 0;
    /// → real [episodes, observations]
    [[nodiscard]] virtual Var observe(std::span<const Var> state) const = 0;
    /// network output real [episodes, outputs]
    [[nodiscard]] virtual EnvironmentStep step(std::span<const Var> state, Var output) const = 0;
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

    static constexpr auto fields = std::tuple{
        Field{"every", &RolloutValidation::every, FieldRange{1.0, 1e9},
              "Generations between validations; the last one is validated too."},
        Field{"episodes", &RolloutValidation::episodes, FieldRange{1.0, 1e6},
              "Episodes of a validation."},
    };
};

/// What every task of an environment reads.
struct RolloutSettings {
    std::int64_t episodes = 5;
    std::int64_t steps = 500;
    EpisodeSeeds episode_seeds = EpisodeSeeds::per_generation;
    RolloutValidation validation{};

    static constexpr auto fields = std::tuple{
        Field{"episodes", &RolloutSettings::episodes, FieldRange{1.0, 1e6},
              "Episodes of an evaluation; fitness is their mean return."},
        Field{"steps", &RolloutSettings::steps, FieldRange{1.0, 1e6}, "Longest episode."},
        Field{"episode_seeds", &RolloutSettings::episode_seeds,
              "per_generation: fresh starts in every generation, common to all individuals; fixed: "
              "the same in the whole run."},
        Field{"validation", &RolloutSettings::validation, "The best individual on fresh episodes."},
    };
};

/// A task that runs whole episodes in one scan: fitness = mean return; finished episodes freeze;
/// episode starts are common to all individuals of a generation; validation uses fresh episodes.
[[nodiscard]] std::unique_ptr<Task> make_rollout_task(std::unique_ptr<Environment> environment,
                                                      const RolloutSettings& settings);
/// The type of task that runs an environment, with the name of the environment.
[[nodiscard]] TaskKind rollout_task(std::function<std::unique_ptr<Environment>()> environment,
                                    std::string meaning);

/// Gym's CartPole-v1: reward 1 for every step, over when the pole or the cart leaves its range.
[[nodiscard]] std::unique_ptr<Environment> make_cart_pole();

}  // namespace cambrian::evolve
