#include "cambrian/evolve/tasks/labelled_rows.hpp"

#include "cambrian/evolve/tasks/task_guard.hpp"

namespace cambrian::evolve {

LabelledTask::~LabelledTask() = default;

std::shared_ptr<const LabelledRows> labelled_rows(const Task& task, Phase phase) {
    const auto* const labelled = dynamic_cast<const LabelledTask*>(&task.inner());
    if (labelled == nullptr) return nullptr;
    return guarded_call(task, [&] { return labelled->labelled_rows(phase); });
}

}  // namespace cambrian::evolve
