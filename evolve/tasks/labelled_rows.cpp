#include "cambrian/evolve/tasks/labelled_rows.hpp"

namespace cambrian::evolve {

LabelledTask::~LabelledTask() = default;

std::shared_ptr<const LabelledRows> labelled_rows(const Task& task, Phase phase) {
    const auto* const labelled = dynamic_cast<const LabelledTask*>(&task.inner());
    return labelled == nullptr ? nullptr : labelled->labelled_rows(phase);
}

}  // namespace cambrian::evolve
