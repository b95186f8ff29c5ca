#include "cambrian/evolve/tasks/task_changes.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cambrian/engine/core/error.hpp"

namespace cambrian::evolve {
namespace {

using Json = nlohmann::ordered_json;

/// What the signatures of two tasks of a run differ in, in words; empty: nothing that matters.
std::string other_ends(const TaskSignature& first, const TaskSignature& other) {
    if (first.observations != other.observations || first.outputs != other.outputs)
        return fmt::format("it gives networks {} values and reads {}, and task {} and {}",
                           other.observations, other.outputs, first.observations, first.outputs);
    const auto differ = [](bool before, bool now, const char* what) {
        return before == now ? std::string()
                             : fmt::format("{} {}, and task {}", now ? "it has" : "it has no", what,
                                           before ? "has" : "has none");
    };
    for (const std::string& fault :
         {differ(first.time, other.time, "time"),
          differ(first.validates, other.validates, "validation"),
          differ(first.tests, other.tests, "test"), differ(first.loss, other.loss, "loss")})
        if (!fault.empty()) return fault;
    return {};
}

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

/// Whether an entry is one: what a file says is checked only later.
bool well_formed(const Json& entry) {
    return entry.is_object() && entry.contains("at") && entry.at("at").is_number_unsigned() &&
           entry.contains("task") && entry.at("task").is_object();
}

}  // namespace

void check_changes(const Task& first, std::span<const TaskChange> changes) {
    std::uint64_t before = 0;
    for (std::size_t i = 0; i < changes.size(); ++i) {
        if (changes[i].at <= before)
            throw ConfigError(fmt::format(
                "task.changes[{}].at is {} (changes ascend, and this one is not after generation "
                "{}) sort them, from generation 1 on",
                i, changes[i].at, before));
        before = changes[i].at;
        if (const std::string fault = other_ends(first.signature(), changes[i].task->signature());
            !fault.empty())
            throw ConfigError(
                fmt::format("task.changes[{}].task does not fit the run ({}: the networks stay) "
                            "leave out the keys that decide this",
                            i, fault));
    }
}

Json first_task(const Json& task) {
    Json result = task;
    result.erase(changes_key);
    return result;
}

Json merged_task(const Json& task, const Json& other) {
    return merged_section(first_task(task), other);
}

Json task_of_generation(const Json& task, std::uint64_t generation) {
    if (!task.is_object() || !task.contains(changes_key) || !task.at(changes_key).is_array())
        return task;
    if (!std::ranges::all_of(task.at(changes_key), well_formed)) return task;
    Json result = first_task(task);
    for (const Json& entry : task.at(changes_key))
        if (entry.at("at").get<std::uint64_t>() <= generation)
            result = merged_task(task, entry.at("task"));
    return result;
}

}  // namespace cambrian::evolve
