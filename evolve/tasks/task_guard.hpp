#pragma once

#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include "cambrian/evolve/tasks/task.hpp"

namespace cambrian::evolve {

/// What a task is, too, that stands for one of a plug-in, see Task::inner.
class TaskGuard {
  public:
    virtual ~TaskGuard() = default;
    /// Calls code of the inner task; what that throws becomes an Error that names the plug-in.
    virtual void call(const std::function<void()>& code) const = 0;
};

/// The result of code of task.inner(), which only a cast reaches.
template <class F>
auto guarded_call(const Task& task, const F& code) {
    const auto* const guard = dynamic_cast<const TaskGuard*>(&task);
    if (guard == nullptr) return code();
    std::optional<std::invoke_result_t<const F&>> result;
    guard->call([&] { result.emplace(code()); });
    return *std::move(result);
}

}  // namespace cambrian::evolve
