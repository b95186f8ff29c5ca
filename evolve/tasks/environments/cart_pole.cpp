#include <numbers>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/evolve/tasks/environments/drawings.hpp"
#include "cambrian/evolve/tasks/environments/motion.hpp"

namespace cambrian::evolve {
namespace cart_pole {

constexpr double gravity = 9.8;
constexpr double pole_mass = 0.1;
constexpr double total_mass = 1.0 + pole_mass;
constexpr double seconds_per_step = 0.02;
constexpr double position_limit = 2.4;

enum class Variant : std::uint8_t { gym, stanley };
constexpr std::array<std::string_view, 2> variant_names{"gym", "stanley"};
constexpr std::span<const std::string_view> choice_names(Variant) {
    return variant_names;
}

struct CartPoleSettings {
    Variant variant = Variant::gym;
    bool sutton_barto_reward = false;
    bool bias_input = false;
    double force = 10.0;
    double half_length = 0.5;

    static constexpr auto fields = FieldTable{
        Field{"variant", &CartPoleSettings::variant,
              "gym: CartPole-v1, 500 steps from near the middle, solved by a mean of 475; stanley: "
              "the single pole of Stanley's NEAT, 100,000 steps from anywhere, scaled inputs, "
              "solved by a train fitness of 100,000 (with episodes 1, as there)."},
        Field{"sutton_barto_reward", &CartPoleSettings::sutton_barto_reward,
              "0 for a step and -1 for the one that fails, in place of 1 for every step."},
        Field{"bias_input", &CartPoleSettings::bias_input, "A first observation that is always 1."},
        Field{"force", &CartPoleSettings::force, FieldRange{-1e3, 1e3},
              "Newtons of a push; negative: the outputs change places."},
        Field{"half_length", &CartPoleSettings::half_length, FieldRange{1e-2, 1e2},
              "Metres from the hinge to the middle of the pole."},
    };
};

/// A pole on a cart, pushed left or right, after Barto, Sutton and Anderson 1983: CartPole-v1 of
/// Gym, and the single pole of Stanley's NEAT. State: position, velocity, angle and angular
/// velocity, each [episodes, 1].
class CartPole final : public Environment {
  public:
    explicit CartPole(const CartPoleSettings& settings) : settings_(settings) {}
    std::string_view type() const override { return "cart_pole"; }
    std::int64_t observations() const override { return settings_.bias_input ? 5 : 4; }
    std::int64_t outputs() const override { return 2; }
    std::int64_t reset_draws() const override { return 4; }
    std::int64_t steps() const override { return is_gym() ? 500 : 100'000; }

    std::optional<Solution> solution() const override {
        if (settings_.sutton_barto_reward) return std::nullopt;
        if (is_gym()) return Solution{.candidate = 475.0, .passes = 475.0};
        return Solution{.candidate = 100'000.0, .passes = 100'000.0, .phase = Phase::train};
    }
    double max_score(std::int64_t steps) const override { return static_cast<double>(steps); }

    std::vector<Var> reset(Var draws) const override {
        std::vector<Var> state;
        for (std::int64_t i = 0; i < 4; ++i) {
            const Var draw = column(draws, i);
            // Stanley draws whole thousandths: `range` of them, the first one at -middle.
            const auto& [range, middle] = thousandths[static_cast<std::size_t>(i)];
            state.push_back(is_gym() ? draw * 0.1 - 0.05 : floor(draw * range) / 1000.0 - middle);
        }
        return state;
    }

    Var observe(std::span<const Var> state) const override {
        std::vector<Var> seen(state.begin(), state.end());
        if (!is_gym())
            seen = {(state[0] + 2.4) / 4.8, (state[1] + 0.75) / 1.5,
                    (state[2] + angle_limit()) / 0.41, (state[3] + 1.0) / 2.0};
        if (settings_.bias_input)
            seen.insert(seen.begin(), filled(*state[0].graph, state[0].shape(), 1.0));
        return concat(seen, 1);
    }

    EnvironmentStep step(std::span<const Var> state, Var output) const override {
        CAMBRIAN_EXPECT(state.size() == 4);
        Graph& graph = *output.graph;
        const Var position = state[0];
        const Var velocity = state[1];
        const Var angle = state[2];
        const Var angular_velocity = state[3];

        const double force = settings_.force;
        const double half_length = settings_.half_length;
        const double moment = pole_mass * half_length / total_mass;
        const Var push = select(pushes_right(output), constant(graph, force / total_mass),
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
        const Var fallen = per_episode(
            logical_or(outside(next[0], position_limit), outside(next[2], angle_limit())));
        const Var reward = settings_.sutton_barto_reward ? -cast(fallen, ValueType::real)
                                                         : every_episode(angle, 1.0);
        return {.state = std::move(next), .reward = reward, .done = fallen};
    }

    std::optional<Picture> picture(EpisodeState state) const override {
        return cart_picture(state[0][0], position_limit,
                            {{state[2][0], 2.0 * settings_.half_length}}, seconds_per_step, false);
    }

  private:
    [[nodiscard]] bool is_gym() const { return settings_.variant == Variant::gym; }
    /// Stanley's twelve degrees are rounded.
    [[nodiscard]] double angle_limit() const {
        return is_gym() ? 12.0 * 2.0 * std::numbers::pi / 360.0 : 0.2094384;
    }
    /// The larger output acts. Of equal ones Gym takes the first (left), Stanley the second.
    [[nodiscard]] Var pushes_right(Var output) const {
        const Var left = column(output, 0);
        const Var right = column(output, 1);
        return is_gym() ? less(left, right) : less_equal(left, right);
    }
    static constexpr std::array<std::pair<double, double>, 4> thousandths{
        {{4800.0, 2.4}, {2000.0, 1.0}, {400.0, 0.2}, {3000.0, 1.5}}};

    CartPoleSettings settings_;
};

}  // namespace cart_pole

TaskKind cart_pole_task() {
    using namespace cart_pole;
    return rollout_task<CartPoleSettings>(
        [](const CartPoleSettings& settings) { return std::make_unique<CartPole>(settings); },
        "Gym CartPole-v1, or Stanley's single pole: position, velocity, angle, angular velocity; 2 "
        "outputs (argmax: push left, right), a reward of 1 for each step, the last one too.");
}

}  // namespace cambrian::evolve
