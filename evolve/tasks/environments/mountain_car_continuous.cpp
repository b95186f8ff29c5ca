#include "cambrian/engine/core/contract.hpp"
#include "cambrian/evolve/tasks/environments/drawings.hpp"
#include "cambrian/evolve/tasks/environments/motion.hpp"

namespace cambrian::evolve {
namespace mountain_car_continuous {

constexpr double least_position = -1.2;
constexpr double largest_position = 0.6;
constexpr double largest_speed = 0.07;
constexpr double goal = 0.45;
constexpr double power = 0.0015;
constexpr double slope = 0.0025;

/// The same valley with a motor that is paid for: Gym's MountainCarContinuous-v0. State: position
/// and velocity. A car that stays where it is gets 0, which misleads a search.
class MountainCarContinuous final : public Environment {
  public:
    std::string_view type() const override { return "mountain_car_continuous"; }
    std::int64_t observations() const override { return 2; }
    std::int64_t outputs() const override { return 1; }
    std::int64_t reset_draws() const override { return 1; }
    std::int64_t steps() const override { return 999; }
    std::optional<Solution> solution() const override {
        return Solution{.candidate = 90.0, .passes = 90.0};
    }

    std::vector<Var> reset(Var draws) const override {
        return {draws * 0.2 - 0.6, filled(*draws.graph, draws.shape(), 0.0)};
    }

    Var observe(std::span<const Var> state) const override { return concat(state, 1); }

    EnvironmentStep step(std::span<const Var> state, Var output) const override {
        CAMBRIAN_EXPECT(state.size() == 2);
        Graph& graph = *output.graph;
        const Var force = clamp(output, -1.0, 1.0);
        const Var faster = state[1] + (force * power - cos(state[0] * 3.0) * slope);
        const Var velocity = clamp(faster, -largest_speed, largest_speed);
        const Var position = clamp(state[0] + velocity, least_position, largest_position);
        const Var zero = constant(graph, 0.0);
        const Var stopped = logical_and(less_equal(position, constant(graph, least_position)),
                                        less(velocity, zero));
        const Var after = select(stopped, zero, velocity);
        const Var arrived =
            logical_and(greater_equal(position, constant(graph, goal)), greater_equal(after, zero));
        // The cost is that of the output as it is, not of the force that the motor has.
        const Var prize = select(arrived, constant(graph, 100.0), zero);
        return {.state = {position, after},
                .reward = per_episode(prize - square(output) * 0.1),
                .done = per_episode(arrived)};
    }

    std::optional<Picture> picture(EpisodeState state) const override {
        return valley_picture(state[0][0], goal);
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
