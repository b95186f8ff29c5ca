#include "cambrian/launch/config/task_changes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "cambrian/engine/core/error.hpp"

namespace cambrian::launch {
namespace {

constexpr const char* changes_key = "changes";

/// A section with what is other in its place: null takes a key away, and a section of another type
/// is all that is given.
Json merged_section(const Json& section, const Json& other) {
    if (!section.is_object() || !other.is_object()) return other;
    if (other.contains("type") && other.at("type") != section.value("type", Json())) return other;
    Json result = section;
    for (const auto& [key, value] : other.items())
        if (value.is_null())
            result.erase(key);
        else
            result[key] = result.contains(key) ? merged_section(result.at(key), value) : value;
    return result;
}

/// The first task with what is other in its place.
Json merged(const Json& task, const Json& other) {
    return merged_section(first_task(task), other);
}

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

/// Whether an entry is one: what a file says is checked only later.
bool well_formed(const Json& entry) {
    return entry.is_object() && entry.contains("at") && entry.at("at").is_number_unsigned() &&
           entry.contains("task") && entry.at("task").is_object();
}

}  // namespace

Json first_task(const Json& task) {
    Json result = task;
    result.erase(changes_key);
    return result;
}

Origins origins_of_change(const Origins& origins, std::size_t index) {
    return Origins(fmt::format("{}: task.{}[{}]", origins.of("task.changes"), changes_key, index));
}

std::vector<ChangedTask> changed_tasks(const Schema& schema, const Json& config,
                                       const Origins& origins) {
    std::vector<ChangedTask> result;
    const Json& task = config.at("task");
    if (!task.contains(changes_key)) return result;
    Json before = first_task(task);
    for (std::size_t i = 0; i < task.at(changes_key).size(); ++i) {
        const Json& entry = task.at(changes_key)[i];
        const Origins own = origins_of_change(origins, i);
        check_entry(entry.at("task"), own);
        Json changed = config;
        changed["task"] = merged(task, entry.at("task"));
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

Json task_of_generation(const Json& task, std::uint64_t generation) {
    if (!task.is_object() || !task.contains(changes_key) || !task.at(changes_key).is_array())
        return task;
    if (!std::ranges::all_of(task.at(changes_key), well_formed)) return task;
    Json result = first_task(task);
    for (const Json& entry : task.at(changes_key))
        if (entry.at("at").get<std::uint64_t>() <= generation)
            result = merged(task, entry.at("task"));
    return result;
}

}  // namespace cambrian::launch
