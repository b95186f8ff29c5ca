#include <cmath>
#include <numbers>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/evolve/tasks/environments/motion.hpp"

namespace cambrian::evolve {
namespace pendulum {

constexpr double gravity = 10.0;
constexpr double seconds_per_step = 0.05;
constexpr double largest_speed = 8.0;
constexpr double largest_torque = 2.0;
constexpr double turn = 2.0 * std::numbers::pi;

/// A pendulum that is to be swung up by a torque too weak to lift it at once: Gym's Pendulum-v1.
/// Mass and length are 1. State: the angle from the upright, which is never wrapped, and its speed.
class Pendulum final : public Environment {
  public:
    std::string_view type() const override { return "pendulum"; }
    std::int64_t observations() const override { return 3; }
    std::int64_t outputs() const override { return 1; }
    std::int64_t reset_draws() const override { return 2; }
    std::int64_t steps() const override { return 200; }
    /// At full speed the angle is then 8,000, and sine and cosine are exact up to 8,192.
    std::int64_t most_steps() const override { return 20'000; }
    /// Gym names no threshold. Good controllers get -120 to -180.
    std::optional<Solution> solution() const override {
        return Solution{.candidate = -200.0, .passes = -200.0};
    }

    std::vector<Var> reset(Var draws) const override {
        return {column(draws, 0) * turn - std::numbers::pi, column(draws, 1) * 2.0 - 1.0};
    }

    Var observe(std::span<const Var> state) const override {
        return concat(std::array{cos(state[0]), sin(state[0]), state[1]}, 1);
    }

    EnvironmentStep step(std::span<const Var> state, Var output) const override {
        CAMBRIAN_EXPECT(state.size() == 2);
        const Var angle = state[0];
        const Var torque = clamp(output, -largest_torque, largest_torque);
        const Var shifted = angle + std::numbers::pi;
        const Var upright = shifted - floor(shifted / turn) * turn - std::numbers::pi;
        const Var cost = square(upright) + square(state[1]) * 0.1 + square(torque) * 0.001;
        const Var acceleration = sin(angle) * (1.5 * gravity) + torque * 3.0;
        const Var speed =
            clamp(state[1] + acceleration * seconds_per_step, -largest_speed, largest_speed);
        return {.state = {angle + speed * seconds_per_step, speed},
                .reward = per_episode(-cost),
                .done = never(angle)};
    }

    std::optional<Picture> picture(EpisodeState state) const override {
        Picture picture({-1.9, -1.25}, {1.9, 1.25}, seconds_per_step);
        picture.line(Picture::Ink::goal, 0.02, {-0.2, 1.15}, {0.2, 1.15});
        picture.line(Picture::Ink::limb, 0.1, {}, {-std::sin(state[0][0]), std::cos(state[0][0])});
        return picture.circle(Picture::Ink::joint, {}, 0.07);
    }
};

}  // namespace pendulum

TaskKind pendulum_task() {
    using namespace pendulum;
    return rollout_task(
        [] { return std::make_unique<Pendulum>(); },
        "Gym Pendulum-v1: cosine and sine of the angle, speed; 1 output, the torque, limited to 2; "
        "each of 200 steps costs angle squared + .1 speed squared + .001 torque squared; solved: a "
        "mean of -200 (Gym names no threshold).");
}

}  // namespace cambrian::evolve
