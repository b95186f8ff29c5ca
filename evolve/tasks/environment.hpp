#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "cambrian/engine/graph/builders/arithmetic.hpp"
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

struct RolloutSettings {
    std::int64_t episodes = 5;
    std::int64_t steps = 500;
    bool fresh_episodes = true;  ///< episode_seeds: per_generation, or the same for the whole run.
    std::int64_t validation_episodes = 100;
};

/// A task that runs whole episodes in one scan: fitness = mean return; finished episodes freeze;
/// episode starts are common to all individuals of a generation; validation uses fresh episodes.
[[nodiscard]] std::unique_ptr<Task> make_rollout_task(std::unique_ptr<Environment> environment,
                                                      const RolloutSettings& settings);

}  // namespace cambrian::evolve
