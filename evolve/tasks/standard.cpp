#include "cambrian/evolve/tasks/task.hpp"

namespace cambrian::evolve {

// Each in the file of its task. A new one has a line here and one in the list below.
TaskKind cart_pole_task();
TaskKind dataset_task();
TaskKind delayed_copy_task();
TaskKind mackey_glass_task();
TaskKind multiplexer_task();
TaskKind narma10_task();
TaskKind parity_task();
TaskKind retina_task();
TaskKind spirals_task();
TaskKind table_task();
TaskKind xor_task();

TaskRegistry standard_tasks() {
    TaskRegistry registry;
    registry.add(cart_pole_task());
    registry.add(dataset_task());
    registry.add(delayed_copy_task());
    registry.add(mackey_glass_task());
    registry.add(multiplexer_task());
    registry.add(narma10_task());
    registry.add(parity_task());
    registry.add(retina_task());
    registry.add(spirals_task());
    registry.add(table_task());
    registry.add(xor_task());
    return registry;
}

}  // namespace cambrian::evolve
