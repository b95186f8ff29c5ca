#include "cambrian/evolve/tasks/environments/motion.hpp"
#include "cambrian/evolve/tasks/environments/valley.hpp"

namespace cambrian::evolve {
namespace mountain_car {

/// A motor with three positions: Gym's MountainCar-v0.
class MountainCar final : public Valley {
  public:
    MountainCar() : Valley(0.5) {}
    std::string_view type() const override { return "mountain_car"; }
    std::int64_t outputs() const override { return 3; }
    std::int64_t steps() const override { return 200; }
    std::optional<Solution> solution() const override {
        return Solution{.candidate = -110.0, .passes = -110.0};
    }

    EnvironmentStep step(std::span<const Var> state, Var output) const override {
        constexpr double push = 0.001;
        const Car car = drive(state, (first_largest(output) - 1.0) * push);
        return {.state = car.state,
                .reward = every_episode(car.state[0], -1.0),
                .done = per_episode(car.arrived)};
    }
};

}  // namespace mountain_car

TaskKind mountain_car_task() {
    using namespace mountain_car;
    return rollout_task(
        [] { return std::make_unique<MountainCar>(); },
        "Gym MountainCar-v0: position and velocity; 3 outputs (argmax: push left, none, right); -1 "
        "for each of at most 200 steps; solved: a mean of -110.");
}

}  // namespace cambrian::evolve
