#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>

#include "cambrian/evolve/tasks/environment.hpp"
#include "cambrian/evolve/tasks/task.hpp"

namespace cambrian::evolve {

/// `{"type": "xor"}`: the four patterns of exclusive or, fitness = 4 − Σ error² of the network's
/// raw output against 0 and 1.
[[nodiscard]] std::unique_ptr<Task> make_xor_task(const nlohmann::json& settings,
                                                  const TaskContext& context);

/// Gym's CartPole-v1 as an environment: reward 1 for every step, over when the pole or the cart
/// leaves its range.
[[nodiscard]] std::unique_ptr<Environment> make_cart_pole();

/// `{"type": "cart_pole", "episodes": 5, "steps": 500, "episode_seeds": "per_generation" | "fixed",
/// "validation": {"every": 5, "episodes": 100}}`
[[nodiscard]] std::unique_ptr<Task> make_cart_pole_task(const nlohmann::json& settings,
                                                        const TaskContext& context);

/// The settings that every rollout task shares.
[[nodiscard]] RolloutSettings rollout_settings(const nlohmann::json& settings);

/// `{"type": "table", ...}`, see table_settings.hpp.
[[nodiscard]] std::unique_ptr<Task> make_table_task(const nlohmann::json& settings,
                                                    const TaskContext& context);

/// `{"type": "dataset", "source": {..}, "split": {..}, "loss": {..}, "seed": 1}`: samples of a file
/// or a formula (engine/train/source.hpp), fitness = −loss over all rows of a part.
[[nodiscard]] std::unique_ptr<Task> make_dataset_task(const nlohmann::json& settings,
                                                      const TaskContext& context);

}  // namespace cambrian::evolve
