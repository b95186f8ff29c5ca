#include "cambrian/evolve/tasks/environments/motion.hpp"
#include "cambrian/evolve/tasks/environments/valley.hpp"

namespace cambrian::evolve {
namespace mountain_car_continuous {

/// A motor that is paid for: Gym's MountainCarContinuous-v0. A car that stays where it is gets 0,
/// which misleads a search.
class MountainCarContinuous final : public Valley {
  public:
    MountainCarContinuous() : Valley(0.45) {}
    std::string_view type() const override { return "mountain_car_continuous"; }
    std::int64_t outputs() const override { return 1; }
    std::int64_t steps() const override { return 999; }
    std::optional<Solution> solution() const override {
        return Solution{.candidate = 90.0, .passes = 90.0};
    }

    EnvironmentStep step(std::span<const Var> state, Var output) const override {
        constexpr double power = 0.0015;
        const Car car = drive(state, clamp(output, -1.0, 1.0) * power);
        Graph& graph = *output.graph;
        const Var prize = select(car.arrived, constant(graph, 100.0), constant(graph, 0.0));
        // The cost is that of the output as it is, not of the force that the motor has.
        return {.state = car.state,
                .reward = per_episode(prize - square(output) * 0.1),
                .done = per_episode(car.arrived)};
    }
};

}  // namespace mountain_car_continuous

TaskKind mountain_car_continuous_task() {
    using namespace mountain_car_continuous;
    return rollout_task(
        [] { return std::make_unique<MountainCarContinuous>(); },
        "Gym MountainCarContinuous-v0: position and velocity; 1 output, the force, limited to 1; "
        "100 at the goal, each step minus .1 of the output squared, at most 999 steps; solved: a "
        "mean of 90.");
}

}  // namespace cambrian::evolve
