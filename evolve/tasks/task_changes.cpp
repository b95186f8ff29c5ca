#include "cambrian/evolve/tasks/task_changes.hpp"

#include <fmt/format.h>

#include "cambrian/engine/core/error.hpp"

namespace cambrian::evolve {
namespace {

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

}  // namespace cambrian::evolve
