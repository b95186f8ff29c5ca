#include <numbers>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/evolve/tasks/environment.hpp"

namespace cambrian::evolve {
namespace {

constexpr double gravity = 9.8;
constexpr double pole_mass = 0.1;
constexpr double total_mass = 1.0 + pole_mass;
constexpr double half_length = 0.5;
constexpr double force = 10.0;
constexpr double seconds_per_step = 0.02;
constexpr double position_limit = 2.4;
constexpr double angle_limit = 12.0 * 2.0 * std::numbers::pi / 360.0;
constexpr double start_range = 0.05;
constexpr double moment = pole_mass * half_length / total_mass;

/// A pole on a cart, pushed left or right: CartPole-v1 of Gym after Barto, Sutton and Anderson
/// 1983. State: position, velocity, angle and angular velocity, each [episodes, 1].
class CartPole final : public Environment {
  public:
    std::string_view type() const override { return "cart_pole"; }
    std::int64_t observations() const override { return 4; }
    std::int64_t outputs() const override { return 2; }
    std::int64_t reset_draws() const override { return 4; }

    std::vector<Var> reset(Var draws) const override {
        const Var start = (draws * (2.0 * start_range)) - start_range;
        std::vector<Var> state;
        for (std::int64_t i = 0; i < 4; ++i) state.push_back(slice(start, 1, i, 1));
        return state;
    }

    Var observe(std::span<const Var> state) const override { return concat(state, 1); }

    EnvironmentStep step(std::span<const Var> state, Var output) const override {
        CAMBRIAN_EXPECT(state.size() == 4);
        Graph& graph = *output.graph;
        const std::int64_t episodes = output.shape()[0];
        const Var position = state[0];
        const Var velocity = state[1];
        const Var angle = state[2];
        const Var angular_velocity = state[3];

        // The larger output acts; the first one (push left) when both are equal.
        const Var right = less(slice(output, 1, 0, 1), slice(output, 1, 1, 1));
        const Var push = select(right, constant(graph, force / total_mass),
                                constant(graph, -force / total_mass));
        const Var sine = sin(angle);
        const Var cosine = cos(angle);
        const Var swing = push + square(angular_velocity) * (sine * moment);
        const Var inertia =
            half_length * 4.0 / 3.0 - square(cosine) * (half_length * pole_mass / total_mass);
        const Var angular_acceleration = (sine * gravity - cosine * swing) / inertia;
        const Var acceleration = swing - angular_acceleration * (cosine * moment);

        std::vector<Var> next{position + velocity * seconds_per_step,
                              velocity + acceleration * seconds_per_step,
                              angle + angular_velocity * seconds_per_step,
                              angular_velocity + angular_acceleration * seconds_per_step};
        const Var fallen = logical_or(less(constant(graph, position_limit), abs(next[0])),
                                      less(constant(graph, angle_limit), abs(next[2])));
        const Var reward =
            graph.constant(Tensor(ValueType::real, Shape{episodes},
                                  std::vector<double>(static_cast<std::size_t>(episodes), 1.0)));
        return {.state = std::move(next), .reward = reward, .done = reshape(fallen, {episodes})};
    }
};

}  // namespace

std::unique_ptr<Environment> make_cart_pole() {
    return std::make_unique<CartPole>();
}

TaskKind cart_pole_task() {
    return rollout_task(make_cart_pole,
                        "Gym CartPole-v1: 4 observations, 2 outputs (argmax), a reward of 1 for "
                        "each step the pole stands.");
}

}  // namespace cambrian::evolve
