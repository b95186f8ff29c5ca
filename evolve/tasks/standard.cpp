#include "cambrian/evolve/tasks/task.hpp"

namespace cambrian::evolve {

// Each in the file of its task. A new one has a line here and one in the list below.
TaskKind cart_pole_task();
TaskKind dataset_task();
TaskKind table_task();
TaskKind xor_task();

TaskRegistry standard_tasks() {
    TaskRegistry registry;
    registry.add(cart_pole_task());
    registry.add(dataset_task());
    registry.add(table_task());
    registry.add(xor_task());
    return registry;
}

}  // namespace cambrian::evolve
