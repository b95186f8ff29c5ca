#pragma once

#include <fmt/format.h>

#include <string>

#include "cambrian/engine/core/guarded.hpp"
#include "cambrian/evolve/tasks/task.hpp"
#include "cambrian/evolve/variation/genome_kind.hpp"

// The code of plug-ins, called so that nothing it throws ends a program without a word.
namespace cambrian::evolve {

/// Calls code of a part of a plug-in, `task "mine" of the plug-in "my_plugin"`.
template <class F>
auto guarded_part(const std::string& part, const F& f) {
    return guarded([&] { return part + " fails"; }, f);
}

/// The same task, guarded.
[[nodiscard]] TaskKind guarded_task(TaskKind kind, const std::string& plugin);
/// The same mutation, guarded; children that are not valid are an error, too.
[[nodiscard]] CustomMutation guarded_mutation(CustomMutation mutation, const std::string& plugin);

}  // namespace cambrian::evolve
