#include <cmath>
#include <numbers>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/evolve/tasks/environments/motion.hpp"

namespace cambrian::evolve {
namespace acrobot {

constexpr double gravity = 9.8;
constexpr double center = 0.5;  // of mass of a link; lengths, masses and inertias are 1
constexpr double seconds_per_step = 0.2;
constexpr double pi = std::numbers::pi;

/// Whose equations: of Sutton and Barto's book, or of Sutton's paper of 1996, which lack a term.
enum class Equations : std::uint8_t { book, nips };
constexpr std::array<std::string_view, 2> equations_names{"book", "nips"};
constexpr std::span<const std::string_view> choice_names(Equations) {
    return equations_names;
}

struct AcrobotSettings {
    Equations equations = Equations::book;

    static constexpr auto fields = FieldTable{
        Field{"equations", &AcrobotSettings::equations,
              "book: as Gym has them; nips: without the pull of the first link's turning on the "
              "second."},
    };
};

/// x by whole turns into [-pi, pi]; x in it stays as it is.
Var wrapped(Var x) {
    Graph& graph = *x.graph;
    const Var zero = constant(graph, 0.0);
    const Var above = max(ceil((x - pi) / (2.0 * pi)), zero);
    const Var below = min(floor((x + pi) / (2.0 * pi)), zero);
    return x - (above + below) * (2.0 * pi);
}

/// Two links that hang, with a motor between them, to be swung up: Gym's Acrobot-v1 after Sutton
/// 1996. State: angle of the first link from hanging down, of the second from the first, speeds.
class Acrobot final : public Environment {
  public:
    explicit Acrobot(const AcrobotSettings& settings) : equations_(settings.equations) {}
    std::string_view type() const override { return "acrobot"; }
    std::int64_t observations() const override { return 6; }
    std::int64_t outputs() const override { return 3; }
    std::int64_t reset_draws() const override { return 4; }
    std::int64_t steps() const override { return 500; }
    std::optional<Solution> solution() const override {
        return Solution{.candidate = -100.0, .passes = -100.0};
    }

    std::vector<Var> reset(Var draws) const override {
        const Var start = draws * 0.2 - 0.1;
        return {column(start, 0), column(start, 1), column(start, 2), column(start, 3)};
    }

    Var observe(std::span<const Var> state) const override {
        return concat(std::array{cos(state[0]), sin(state[0]), cos(state[1]), sin(state[1]),
                                 state[2], state[3]},
                      1);
    }

    EnvironmentStep step(std::span<const Var> state, Var output) const override {
        CAMBRIAN_EXPECT(state.size() == 4);
        const Var torque = first_largest(output) - 1.0;
        const auto moved =
            runge_kutta(std::array{state[0], state[1], state[2], state[3]}, seconds_per_step,
                        [&](const std::array<Var, 4>& y) { return derivative(y, torque); });
        const Var first = wrapped(moved[0]);
        const Var second = wrapped(moved[1]);
        const Var height = -cos(first) - cos(second + first);
        const Var up = less(constant(*output.graph, 1.0), height);
        const Var reward = select(up, constant(*output.graph, 0.0), constant(*output.graph, -1.0));
        return {.state = {first, second, clamp(moved[2], -4.0 * pi, 4.0 * pi),
                          clamp(moved[3], -9.0 * pi, 9.0 * pi)},
                .reward = per_episode(reward),
                .done = per_episode(up)};
    }

    std::optional<Picture> picture(EpisodeState state) const override {
        const Picture::Point elbow{std::sin(state[0][0]), -std::cos(state[0][0])};
        const double angle = state[0][0] + state[1][0];
        Picture picture({-2.6, -2.2}, {2.6, 2.2}, 0.06);
        picture.line(Picture::Ink::goal, 0.03, {-2.4, 1.0}, {2.4, 1.0});
        picture.line(Picture::Ink::limb, 0.12, {}, elbow);
        picture.line(Picture::Ink::limb, 0.12, elbow,
                     {elbow.x + std::sin(angle), elbow.y - std::cos(angle)});
        return picture.circle(Picture::Ink::joint, {}, 0.1).circle(Picture::Ink::joint, elbow, 0.1);
    }

  private:
    [[nodiscard]] std::array<Var, 4> derivative(const std::array<Var, 4>& y, Var torque) const {
        const auto [first, second, first_speed, second_speed] = y;
        const Var cosine = cos(second);
        const Var sine = sin(second);
        const Var d1 = center * center + (1.0 + center * center + 2.0 * center * cosine) + 2.0;
        const Var d2 = (center * center + center * cosine) + 1.0;
        const Var phi2 = cos(first + second - pi / 2.0) * (center * gravity);
        const Var phi1 = square(second_speed) * sine * -center -
                         second_speed * first_speed * sine * (2.0 * center) +
                         cos(first - pi / 2.0) * ((center + 1.0) * gravity) + phi2;
        Var pull = torque + d2 / d1 * phi1;
        if (equations_ == Equations::book) pull = pull - square(first_speed) * sine * center;
        const Var second_acceleration = (pull - phi2) / (center * center + 1.0 - square(d2) / d1);
        const Var first_acceleration = -(d2 * second_acceleration + phi1) / d1;
        return {first_speed, second_speed, first_acceleration, second_acceleration};
    }

    Equations equations_;
};

}  // namespace acrobot

TaskKind acrobot_task() {
    using namespace acrobot;
    return rollout_task<AcrobotSettings>(
        [](const AcrobotSettings& settings) { return std::make_unique<Acrobot>(settings); },
        "Gym Acrobot-v1: cosine and sine of two angles, two speeds; 3 outputs (argmax: torque -1, "
        "0, 1); -1 for each of at most 500 steps before the tip is up; solved: a mean of -100.");
}

}  // namespace cambrian::evolve
