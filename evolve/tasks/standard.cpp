#include "cambrian/evolve/tasks/task.hpp"

namespace cambrian::evolve {

// Each in the file of its task. A new one has a line here and one in the list below: environments
// first, then tasks on rows.
TaskKind acrobot_task();
TaskKind cart_pole_task();
TaskKind double_pole_task();
TaskKind mountain_car_task();
TaskKind mountain_car_continuous_task();
TaskKind pendulum_task();
TaskKind swing_up_task();
TaskKind t_maze_task();
TaskKind dataset_task();
TaskKind delayed_copy_task();
TaskKind external_task();
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
    registry.add(acrobot_task());
    registry.add(cart_pole_task());
    registry.add(double_pole_task());
    registry.add(mountain_car_task());
    registry.add(mountain_car_continuous_task());
    registry.add(pendulum_task());
    registry.add(swing_up_task());
    registry.add(t_maze_task());
    registry.add(dataset_task());
    registry.add(delayed_copy_task());
    registry.add(external_task());
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
