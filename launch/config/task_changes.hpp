#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cambrian/launch/config/schema.hpp"
#include "cambrian/launch/config/schema_validator.hpp"
#include "cambrian/launch/json.hpp"

// The section task of a config whose task changes in the middle of a run.
namespace cambrian::launch {

/// A task that takes over.
struct ChangedTask {
    std::uint64_t at = 0;  ///< The first generation that it judges.
    /// A section task of its own, with every default and no changes.
    std::shared_ptr<const Json> settings;
    std::string other;  ///< What the entry of task.changes says, as JSON.
};

/// The tasks of task.changes, checked as sections of their own.
/// @param config with every default. Throws ConfigError for an entry that changes nothing, and
/// what validate() throws, naming the entry.
[[nodiscard]] std::vector<ChangedTask> changed_tasks(const Schema& schema, const Json& config,
                                                     const Origins& origins);

/// Where an entry of task.changes was written, for messages about the task that it makes.
[[nodiscard]] Origins origins_of_change(const Origins& origins, std::size_t index);

}  // namespace cambrian::launch
