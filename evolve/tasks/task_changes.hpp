#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cambrian/evolve/tasks/task.hpp"

namespace cambrian::evolve {

/// Another task, which judges a run from a generation on.
struct TaskChange {
    std::uint64_t at = 0;  ///< The first generation that it judges, from 1 on.
    std::shared_ptr<const Task> task;
    std::string text{};  ///< What is other than in the first task, for people.
};

/// The tasks of a run: that of generation 0, and those that follow, by ascending generations.
struct TaskSchedule {
    /// A run whose task never changes is the task itself.
    TaskSchedule(std::shared_ptr<const Task> task)  // NOLINT(google-explicit-constructor)
        : first(std::move(task)) {}

    std::shared_ptr<const Task> first;
    std::vector<TaskChange> changes{};
};

/// How many changes a generation comes after; it follows from its number alone.
[[nodiscard]] inline std::size_t changes_until(std::span<const TaskChange> changes,
                                               std::uint64_t generation) {
    const auto after = std::ranges::upper_bound(changes, generation, {}, &TaskChange::at);
    return static_cast<std::size_t>(after - changes.begin());
}

/// Throws ConfigError unless changes ascend and all tasks ask the same of a network: widths of
/// observations and outputs, time, and the phases in which networks are compared.
void check_changes(const Task& first, std::span<const TaskChange> changes);

/// The key of a section task with the tasks that follow it.
inline constexpr const char* changes_key = "changes";

/// A section task without its changes.
[[nodiscard]] nlohmann::ordered_json first_task(const nlohmann::ordered_json& task);

/// The first task of a section with what an entry of its changes says in its place.
[[nodiscard]] nlohmann::ordered_json merged_task(const nlohmann::ordered_json& task,
                                                 const nlohmann::ordered_json& other);

/// The section task that judges a generation, without changes; as it is where its changes are none
/// that a config may have.
[[nodiscard]] nlohmann::ordered_json task_of_generation(const nlohmann::ordered_json& task,
                                                        std::uint64_t generation);

}  // namespace cambrian::evolve
