#include "cambrian/evolve/tasks/task.hpp"

namespace cambrian::evolve {

// Each in the file of its task. A new one has a line here and one in the list below.
TaskKind cart_pole_task();
TaskKind dataset_task();
TaskKind table_task();
TaskKind xor_task();

TaskRegistry standard_tasks() {
    TaskRegistry registry;
    for (const TaskKind& kind : {cart_pole_task(), dataset_task(), table_task(), xor_task()})
        registry.add(kind);
    return registry;
}

}  // namespace cambrian::evolve
