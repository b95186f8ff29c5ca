#include "cambrian/engine/core/contract.hpp"
#include "cambrian/evolve/tasks/environments/drawings.hpp"
#include "cambrian/evolve/tasks/environments/motion.hpp"

namespace cambrian::evolve {
namespace mountain_car {

constexpr double least_position = -1.2;
constexpr double largest_position = 0.6;
constexpr double largest_speed = 0.07;
constexpr double goal = 0.5;
constexpr double push = 0.001;
constexpr double slope = 0.0025;

/// A car in a valley, too weak to drive out of it at once: Gym's MountainCar-v0 after Moore 1990.
/// State: position and velocity.
class MountainCar final : public Environment {
  public:
    std::string_view type() const override { return "mountain_car"; }
    std::int64_t observations() const override { return 2; }
    std::int64_t outputs() const override { return 3; }
    std::int64_t reset_draws() const override { return 1; }
    std::int64_t steps() const override { return 200; }
    std::optional<Solution> solution() const override {
        return Solution{.candidate = -110.0, .passes = -110.0};
    }

    std::vector<Var> reset(Var draws) const override {
        return {draws * 0.2 - 0.6, filled(*draws.graph, draws.shape(), 0.0)};
    }

    Var observe(std::span<const Var> state) const override { return concat(state, 1); }

    EnvironmentStep step(std::span<const Var> state, Var output) const override {
        CAMBRIAN_EXPECT(state.size() == 2);
        Graph& graph = *output.graph;
        const Var pull = cos(state[0] * 3.0) * -slope;
        const Var faster = state[1] + ((first_largest(output) - 1.0) * push + pull);
        const Var velocity = clamp(faster, -largest_speed, largest_speed);
        const Var position = clamp(state[0] + velocity, least_position, largest_position);
        // The left wall stops the car, the right one does not.
        const Var zero = constant(graph, 0.0);
        const Var stopped = logical_and(less_equal(position, constant(graph, least_position)),
                                        less(velocity, zero));
        const Var after = select(stopped, zero, velocity);
        const Var arrived =
            logical_and(greater_equal(position, constant(graph, goal)), greater_equal(after, zero));
        return {.state = {position, after},
                .reward = every_episode(position, -1.0),
                .done = per_episode(arrived)};
    }

    std::optional<Picture> picture(EpisodeState state) const override {
        return valley_picture(state[0][0], goal);
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
