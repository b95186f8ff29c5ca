#include <cmath>
#include <numbers>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/evolve/tasks/environments/drawings.hpp"
#include "cambrian/evolve/tasks/environments/motion.hpp"

namespace cambrian::evolve {
namespace swing_up {

constexpr double gravity = 9.82;
constexpr double pole_mass = 0.5;
constexpr double total_mass = 1.0;
constexpr double length = 0.6;
constexpr double moment = pole_mass * length;
constexpr double friction = 0.1;
constexpr double force = 10.0;
constexpr double position_limit = 2.4;
constexpr double seconds = 10.0;
constexpr double pi = std::numbers::pi;

enum class Start : std::uint8_t { easy, hard };
constexpr std::array<std::string_view, 2> start_names{"easy", "hard"};
constexpr std::span<const std::string_view> choice_names(Start) {
    return start_names;
}

struct SwingUpSettings {
    Start start = Start::easy;
    double seconds_per_step = 0.01;

    static constexpr auto fields = FieldTable{
        Field{
            "start", &SwingUpSettings::start,
            "easy: hanging, all four values off by a normal deviate of .2 (WANN, prettyNEAT, "
            "EvoJAX easy); hard: uniform, up to 2.4 m, 10 m/s, a quarter turn from hanging and 10 "
            "rad/s (EvoJAX hard)."},
        Field{"seconds_per_step", &SwingUpSettings::seconds_per_step, FieldRange{0.001, 0.1},
              "Between two reactions; an episode lasts 10 s. .05 is prettyNEAT's slow mode."},
    };
};

/// A pole that hangs from a cart, to be swung up and held: the swing-up of PILCO in the form of
/// prettyNEAT, WANN and EvoJAX. State: position, velocity, angle from the upright, which is never
/// wrapped, and its speed.
class SwingUp final : public Environment {
  public:
    explicit SwingUp(const SwingUpSettings& settings) : settings_(settings) {}
    std::string_view type() const override { return "swing_up"; }
    std::int64_t observations() const override { return 5; }
    std::int64_t outputs() const override { return 1; }
    std::int64_t reset_draws() const override { return 4; }
    std::int64_t steps() const override {
        return std::llround(seconds / settings_.seconds_per_step);
    }
    /// Sine and cosine are exact up to 8,192: 40 rad/s over 200 s.
    std::int64_t most_steps() const override { return 20 * steps(); }
    std::optional<Solution> solution() const override {
        if (settings_.seconds_per_step != SwingUpSettings{}.seconds_per_step) return std::nullopt;
        const double mark = settings_.start == Start::easy ? 900.0 : 667.0;
        return Solution{.candidate = mark, .passes = mark};
    }
    double max_score(std::int64_t steps) const override { return static_cast<double>(steps); }

    std::vector<Var> reset(Var draws) const override {
        const auto draw = [&](std::int64_t i) { return column(draws, i); };
        if (settings_.start == Start::hard) {
            const auto within = [&](std::int64_t i, double range) {
                return draw(i) * (2.0 * range) - range;
            };
            return {within(0, position_limit), within(1, 10.0), within(2, pi / 2.0) + pi,
                    within(3, 10.0)};
        }
        const auto cart = normals(draw(0), draw(1));
        const auto pole = normals(draw(2), draw(3));
        return {cart[0] * 0.2, cart[1] * 0.2, pole[0] * 0.2 + pi, pole[1] * 0.2};
    }

    Var observe(std::span<const Var> state) const override {
        return concat(std::array{state[0], state[1], cos(state[2]), sin(state[2]), state[3]}, 1);
    }

    EnvironmentStep step(std::span<const Var> state, Var output) const override {
        CAMBRIAN_EXPECT(state.size() == 4);
        const double h = settings_.seconds_per_step;
        const auto [position, velocity, angle, speed] =
            std::array{state[0], state[1], state[2], state[3]};
        const Var push = clamp(output, -1.0, 1.0) * force;
        const Var sine = sin(angle);
        const Var cosine = cos(angle);
        const Var swing = square(speed) * sine;
        const Var inertia = 4.0 * total_mass - square(cosine) * (3.0 * pole_mass);
        const Var acceleration =
            (swing * (-2.0 * moment) + sine * cosine * (3.0 * pole_mass * gravity) + push * 4.0 -
             velocity * (4.0 * friction)) /
            inertia;
        const Var turning =
            (swing * cosine * (-3.0 * moment) + sine * (6.0 * total_mass * gravity) +
             (push - velocity * friction) * cosine * 6.0) /
            (inertia * length);
        const Var next = position + velocity * h;
        const Var next_angle = angle + speed * h;
        const Var reward = (cos(next_angle) + 1.0) / 2.0 * cos(next / position_limit * (pi / 2.0));
        return {.state = {next, velocity + acceleration * h, next_angle, speed + turning * h},
                .reward = per_episode(reward),
                .done = per_episode(outside(next, position_limit))};
    }

    std::optional<Picture> picture(EpisodeState state) const override {
        return cart_picture(state[0][0], position_limit, {{state[2][0], length}},
                            settings_.seconds_per_step, true);
    }

  private:
    SwingUpSettings settings_;
};

}  // namespace swing_up

TaskKind swing_up_task() {
    using namespace swing_up;
    return rollout_task<SwingUpSettings>(
        [](const SwingUpSettings& settings) { return std::make_unique<SwingUp>(settings); },
        "A pole on a cart to be swung up: position, velocity, cosine and sine of the angle, its "
        "speed; 1 output, limited to 1, of 10 N; each step of 10 s pays up to 1, upright in the "
        "middle; solved: a mean of 900 (easy) or 667 (hard) at .01 s a step.");
}

}  // namespace cambrian::evolve
