#include "cambrian/launch/config/task_changes.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/tasks/task_changes.hpp"

namespace cambrian::launch {
namespace {

using evolve::changes_key;

/// Refuses what belongs to the run, not to one of its tasks.
void check_entry(const Json& other, const Origins& origins) {
    const bool every = other.contains("validation") && other.at("validation").is_object() &&
                       other.at("validation").contains("every");
    if (!every && !other.contains(changes_key)) return;
    throw ConfigError(
        fmt::format("{}: task.{} is set (it is the same for all tasks of a run) leave it out, and "
                    "set it in the section task",
                    origins.of(""), every ? "validation.every" : changes_key));
}

}  // namespace

Origins origins_of_change(const Origins& origins, std::size_t index) {
    return Origins(fmt::format("{}: task.{}[{}]", origins.of("task.changes"), changes_key, index));
}

std::vector<ChangedTask> changed_tasks(const Schema& schema, const Json& config,
                                       const Origins& origins) {
    std::vector<ChangedTask> result;
    const Json& task = config.at("task");
    if (!task.contains(changes_key)) return result;
    Json before = evolve::first_task(task);
    for (std::size_t i = 0; i < task.at(changes_key).size(); ++i) {
        const Json& entry = task.at(changes_key)[i];
        const Origins own = origins_of_change(origins, i);
        check_entry(entry.at("task"), own);
        Json changed = config;
        changed["task"] = evolve::merged_task(task, entry.at("task"));
        validate(schema, changed, own);
        Json settings = with_defaults(schema, changed).at("task");
        if (settings == before)
            throw ConfigError(fmt::format(
                "{}.task is {} (the task before is the same: nothing changes) give it a key with "
                "another value, or leave the entry out",
                own.of(""), quoted(entry.at("task"))));
        before = settings;
        result.push_back({entry.at("at").get<std::uint64_t>(),
                          std::make_shared<const Json>(std::move(settings)),
                          entry.at("task").dump()});
    }
    return result;
}

}  // namespace cambrian::launch
