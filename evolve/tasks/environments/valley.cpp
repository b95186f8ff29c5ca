#include "cambrian/evolve/tasks/environments/valley.hpp"

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/evolve/tasks/environments/drawings.hpp"
#include "cambrian/evolve/tasks/environments/motion.hpp"

namespace cambrian::evolve {

std::vector<Var> Valley::reset(Var draws) const {
    return {draws * 0.2 - 0.6, filled(*draws.graph, draws.shape(), 0.0)};
}

Var Valley::observe(std::span<const Var> state) const {
    return concat(state, 1);
}

Valley::Car Valley::drive(std::span<const Var> state, Var push) const {
    constexpr double min_position = -1.2;
    constexpr double max_position = 0.6;
    constexpr double max_speed = 0.07;
    constexpr double slope = 0.0025;
    CAMBRIAN_EXPECT(state.size() == 2);
    Graph& graph = *push.graph;
    const Var pull = cos(state[0] * 3.0) * -slope;
    const Var velocity = clamp(state[1] + (push + pull), -max_speed, max_speed);
    const Var position = clamp(state[0] + velocity, min_position, max_position);
    // The left wall stops the car, the right one does not.
    const Var zero = constant(graph, 0.0);
    const Var stopped =
        logical_and(less_equal(position, constant(graph, min_position)), less(velocity, zero));
    const Var after = select(stopped, zero, velocity);
    return {.state = {position, after},
            .arrived = logical_and(greater_equal(position, constant(graph, goal_)),
                                   greater_equal(after, zero))};
}

std::optional<Picture> Valley::picture(EpisodeState state) const {
    return valley_picture(state[0][0], goal_);
}

}  // namespace cambrian::evolve
