#pragma once

#include <fmt/format.h>

#include <exception>
#include <new>
#include <string>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/tasks/task.hpp"
#include "cambrian/evolve/variation/genome_kind.hpp"

// The code of plug-ins, called so that nothing it throws ends a program without a word.
namespace cambrian::evolve {

/// What a plug-in does, for messages: "task \"mine\" of the plug-in \"my_plugin\"".
struct PluginPart {
    std::string text;
};

/// Calls code of a plug-in. Our own errors pass, others become one that says whose they are.
template <class F>
auto guarded(const PluginPart& part, const F& f) {
    try {
        return f();
    } catch (const Error&) {
        throw;
    } catch (const std::bad_alloc&) {
        throw;  // Whoever called makes do with less.
    } catch (const std::exception& error) {
        throw ConfigError(fmt::format("{} fails ({}) mend the plug-in", part.text, error.what()));
    } catch (...) {
        throw ConfigError(
            fmt::format("{} fails (it throws what is no exception) mend the plug-in", part.text));
    }
}

/// The same task, guarded.
[[nodiscard]] TaskKind guarded_task(TaskKind kind, const std::string& plugin);
/// The same mutation, guarded; children that are not valid are an error, too.
[[nodiscard]] CustomMutation guarded_mutation(CustomMutation mutation, const std::string& plugin);

}  // namespace cambrian::evolve
