#include <algorithm>
#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/evolve/tasks/environments/drawings.hpp"
#include "cambrian/evolve/tasks/environments/motion.hpp"

namespace cambrian::evolve {
namespace double_pole {

constexpr double gravity = -9.8;
constexpr double cart_mass = 1.0;
constexpr std::array pole_mass{0.1, 0.01};
constexpr std::array half_length{0.5, 0.05};
constexpr double pole_friction = 2e-6;
constexpr double seconds_per_step = 0.01;  // of the integration: two for each reaction
constexpr double largest_force = 10.0;
constexpr double damping_steps = 1000.0;
constexpr std::int64_t damped_states = 100;

enum class Fitness : std::uint8_t { standard, damping };
constexpr std::array<std::string_view, 2> fitness_names{"standard", "damping"};
constexpr std::span<const std::string_view> choice_names(Fitness) {
    return fitness_names;
}

/// hold: 100,000 steps (Gomez and others 2008); generalise: also from some of 625 other starts
/// (200 of them: Stanley and Miikkulainen 2002).
enum class SolvedBy : std::uint8_t { hold, generalise };
constexpr std::array<std::string_view, 2> solved_by_names{"hold", "generalise"};
constexpr std::span<const std::string_view> choice_names(SolvedBy) {
    return solved_by_names;
}

/// As by the rules of 2008.
struct DoublePoleSettings {
    bool velocities = true;
    bool bias_input = false;
    double start_angle = 0.06981317;
    double cart_friction = 5e-4;
    double min_force = 0.0390625;
    Fitness fitness = Fitness::standard;
    double position_limit = 2.4;
    double angle_limit = 0.628329;
    SolvedBy solved_by = SolvedBy::hold;
    std::int64_t hold_steps = 100'000;
    std::int64_t min_starts = 200;

    static constexpr auto fields = FieldTable{
        Field{"velocities", &DoublePoleSettings::velocities,
              "Whether the network sees the velocities: 6 observations, or 3."},
        Field{"bias_input", &DoublePoleSettings::bias_input,
              "A last observation that is always .5."},
        Field{"start_angle", &DoublePoleSettings::start_angle, FieldRange{-0.6, 0.6},
              "Of the long pole, in radians: 4 degrees (2008); .07 in Stanley's code, 1 degree "
              "(.01745329) in the paper of 2002. All else starts at 0."},
        Field{"cart_friction", &DoublePoleSettings::cart_friction, FieldRange{0.0, 1.0},
              "Newtons against the motion of the cart: 5e-4 (2008); 0 in Stanley's code."},
        Field{"min_force", &DoublePoleSettings::min_force, FieldRange{0.0, 10.0},
              "A weaker force becomes so strong: 10/256 N (2008), so that no network holds the "
              "poles with none; 0 in Stanley's code."},
        Field{"fitness", &DoublePoleSettings::fitness,
              "standard: steps up to the one that fails, of 100,000; damping: .1 f1 + .9 f2 of "
              "Gruau over 1,000 steps, where f1 is the share of steps and f2 is .75 over the sum "
              "of |x| + |x'| + |theta| + |theta'| of the last 100 (0 for 100 steps or less)."},
        Field{"position_limit", &DoublePoleSettings::position_limit, FieldRange{0.1, 100.0},
              "Of the cart, in metres to either side."},
        Field{"angle_limit", &DoublePoleSettings::angle_limit, FieldRange{0.01, 3.0},
              "Of both poles, in radians: 36 degrees."},
        Field{"solved_by", &DoublePoleSettings::solved_by,
              "hold: hold_steps from the start (2008); generalise: and 1,000 steps from min_starts "
              "of the 625 starts of Stanley (2002)."},
        Field{"hold_steps", &DoublePoleSettings::hold_steps, FieldRange{1.0, 1e6},
              "Steps that a network which solves the task holds the poles."},
        Field{"min_starts", &DoublePoleSettings::min_starts, FieldRange{1.0, 625.0},
              "Of generalise: from how many; 200 in the paper."},
    };
};

/// What a run of episodes is for.
enum class Purpose : std::uint8_t {
    training,
    holding,       ///< Counts steps in bounds.
    held,          ///< 1 where all steps are in bounds, else 0.
    generalising,  ///< Counts the starts of Stanley that hold.
};

/// Two poles of different length on a cart: the equations of Wieland 1991 in the forms of Stanley's
/// NEAT and of Gomez and others 2008. State: position and velocity of the cart, angle and angular
/// velocity of the long and the short pole; with damping the last jiggles, oldest first.
class DoublePole final : public Environment {
  public:
    DoublePole(const DoublePoleSettings& settings, Purpose purpose)
        : settings_(settings), purpose_(purpose) {}
    std::string_view type() const override { return "double_pole"; }
    std::int64_t observations() const override {
        return (settings_.velocities ? 6 : 3) + (settings_.bias_input ? 1 : 0);
    }
    std::int64_t outputs() const override { return 1; }
    std::int64_t reset_draws() const override { return 0; }
    std::int64_t starts() const override {
        return purpose_ == Purpose::generalising ? std::int64_t{625} : 1;
    }
    std::int64_t steps() const override {
        if (purpose_ == Purpose::generalising || damped()) return 1000;
        return settings_.hold_steps;
    }
    std::optional<Solution> solution() const override;
    /// With damping the share of the steps to hold, which is all that a candidate needs.
    double max_score(std::int64_t steps) const override {
        if (!damped()) return static_cast<double>(steps);
        return static_cast<double>(std::min(steps, settings_.hold_steps)) * 0.1 / damping_steps;
    }

    std::vector<Var> reset(Var draws) const override;
    Var observe(std::span<const Var> state) const override;
    EnvironmentStep step(std::span<const Var> state, Var output) const override;
    Var score(std::span<const Var> state, Var returns) const override;
    Var fitness(Var scores) const override {
        return purpose_ == Purpose::generalising ? sum_all(scores) : Environment::fitness(scores);
    }

    std::optional<Picture> picture(EpisodeState state) const override {
        return cart_picture(
            state[0][0], settings_.position_limit,
            {{state[2][0], 2.0 * half_length[0]}, {state[4][0], 2.0 * half_length[1]}},
            2.0 * seconds_per_step, false);
    }

  private:
    using Motion = std::array<Var, 6>;
    [[nodiscard]] bool damped() const {
        return purpose_ == Purpose::training && settings_.fitness == Fitness::damping;
    }
    [[nodiscard]] Var force(Var output) const;
    [[nodiscard]] Motion derivative(const Motion& y, Var force) const;
    [[nodiscard]] Var fallen(std::span<const Var> motion) const;

    DoublePoleSettings settings_;
    Purpose purpose_;
};

std::optional<Solution> DoublePole::solution() const {
    const auto test = [&](Purpose purpose) {
        return std::make_shared<const DoublePole>(settings_, purpose);
    };
    const auto hold = static_cast<double>(settings_.hold_steps);
    constexpr double hair = 1e-6;  // Shares are summed up in 32 bits.
    const double candidate = damped() ? max_score(steps()) - hair : hold;
    if (settings_.solved_by == SolvedBy::hold)
        return Solution{.candidate = candidate, .passes = hold, .tests = {test(Purpose::holding)}};
    return Solution{.candidate = candidate,
                    .passes = static_cast<double>(settings_.min_starts),
                    .tests = {test(Purpose::held), test(Purpose::generalising)}};
}

std::vector<Var> DoublePole::reset(Var draws) const {
    Graph& graph = *draws.graph;
    const std::int64_t episodes = draws.shape()[0];
    const Var zero = filled(graph, {episodes, 1}, 0.0);
    std::vector<Var> state(6, zero);
    state[2] = filled(graph, {episodes, 1}, settings_.start_angle);
    if (purpose_ == Purpose::generalising) {
        // Five values of four numbers, the position outermost.
        constexpr std::array shares{0.05, 0.25, 0.5, 0.75, 0.95};
        constexpr std::array ranges{4.32, 2.70, 0.12566304, 0.30019504};
        std::array<std::vector<double>, 4> values;
        for (std::int64_t start = 0; start < 625; ++start)
            for (std::size_t i = 0; i < 4; ++i) {
                constexpr std::array<std::int64_t, 4> strides{125, 25, 5, 1};
                const auto share = static_cast<std::size_t>(start / strides[i] % 5);
                values[i].push_back(shares[share] * ranges[i] - ranges[i] / 2.0);
            }
        for (std::size_t i = 0; i < 4; ++i)
            state[i] = graph.constant(Tensor(ValueType::real, Shape{episodes, 1}, values[i]));
    }
    if (damped()) state.push_back(filled(graph, {episodes, damped_states + 1}, 0.0));
    return state;
}

Var DoublePole::observe(std::span<const Var> state) const {
    constexpr std::array scale{4.8, 2.0, 0.52, 2.0, 0.52, 2.0};
    std::vector<Var> seen;
    for (std::size_t i = 0; i < scale.size(); i += settings_.velocities ? 1 : 2)
        seen.push_back(state[i] / scale[i]);
    if (settings_.bias_input) seen.push_back(filled(*state[0].graph, state[0].shape(), 0.5));
    return concat(seen, 1);
}

Var DoublePole::force(Var output) const {
    const Var force = (clamp(output, 0.0, 1.0) - 0.5) * (2.0 * largest_force);
    if (settings_.min_force == 0.0) return force;
    Graph& graph = *output.graph;
    const Var least =
        select(less(force, constant(graph, 0.0)), constant(graph, -settings_.min_force),
               constant(graph, settings_.min_force));
    return select(less(abs(force), constant(graph, settings_.min_force)), least, force);
}

DoublePole::Motion DoublePole::derivative(const Motion& y, Var force) const {
    Var pull = force;
    if (settings_.cart_friction != 0.0) pull = pull - sign(y[1]) * settings_.cart_friction;
    std::optional<Var> mass;
    std::array<Var, 2> cosines{};
    std::array<Var, 2> slides{};  // gravity and friction at the joint
    for (std::size_t pole = 0; pole < 2; ++pole) {
        const double moment = pole_mass[pole] * half_length[pole];
        const Var angle = y[2 + 2 * pole];
        const Var speed = y[3 + 2 * pole];
        const Var sine = sin(angle);
        const Var cosine = cos(angle);
        const Var joint = speed * (pole_friction / moment);
        const Var slide = sine * gravity + joint;
        pull = pull + square(speed) * sine * moment + cosine * slide * (0.75 * pole_mass[pole]);
        const Var effective = (1.0 - square(cosine) * 0.75) * pole_mass[pole];
        mass = mass ? *mass + effective : effective + cart_mass;
        cosines[pole] = cosine;
        slides[pole] = slide;
    }
    const Var acceleration = pull / *mass;
    const auto turning = [&](std::size_t pole) {
        return (acceleration * cosines[pole] + slides[pole]) * (-0.75 / half_length[pole]);
    };
    return {y[1], acceleration, y[3], turning(0), y[5], turning(1)};
}

Var DoublePole::fallen(std::span<const Var> motion) const {
    return logical_or(outside(motion[0], settings_.position_limit),
                      logical_or(outside(motion[2], settings_.angle_limit),
                                 outside(motion[4], settings_.angle_limit)));
}

EnvironmentStep DoublePole::step(std::span<const Var> state, Var output) const {
    CAMBRIAN_EXPECT(state.size() == (damped() ? 7U : 6U));
    const Var push = force(output);
    Motion motion{};
    std::copy_n(state.begin(), motion.size(), motion.begin());
    for (int i = 0; i < 2; ++i)
        motion = runge_kutta(motion, seconds_per_step,
                             [&](const Motion& y) { return derivative(y, push); });
    const Var down = fallen(motion);
    const bool counts_last = purpose_ == Purpose::training && !damped();
    const Var reward =
        counts_last ? every_episode(down, 1.0) : 1.0 - cast(per_episode(down), ValueType::real);
    std::vector<Var> next(motion.begin(), motion.end());
    if (damped()) {
        const Var jiggle = abs(motion[0]) + abs(motion[1]) + abs(motion[2]) + abs(motion[3]);
        next.push_back(concat(std::array{slice(state[6], 1, 1, damped_states), jiggle}, 1));
    }
    return {.state = std::move(next), .reward = reward, .done = per_episode(down)};
}

Var DoublePole::score(std::span<const Var> state, Var returns) const {
    Graph& graph = *returns.graph;
    const auto number = [&](double value) { return constant(graph, value); };
    const auto all = [&](double steps) {
        return cast(less_equal(number(steps), returns), ValueType::real);
    };
    if (purpose_ == Purpose::held) return all(static_cast<double>(settings_.hold_steps));
    if (purpose_ == Purpose::generalising) return all(999.0);
    if (!damped()) return returns;
    // The jiggle of a state that is out of bounds does not count: it is the last one.
    const auto sum_from = [&](std::int64_t first) {
        return reduce_sum(slice(state[6], 1, first, damped_states), 1);
    };
    const Var jiggles = select(per_episode(fallen(state)), sum_from(0), sum_from(1));
    const Var steady = select(less(number(static_cast<double>(damped_states)), returns),
                              0.75 / jiggles, number(0.0));
    return returns * (0.1 / damping_steps) + steady * 0.9;
}

}  // namespace double_pole

TaskKind double_pole_task() {
    using namespace double_pole;
    return rollout_task<DoublePoleSettings>(
        [](const DoublePoleSettings& settings) {
            return std::make_unique<DoublePole>(settings, Purpose::training);
        },
        "Two poles on a cart, with or without velocities: x / 4.8, x' / 2, angles / .52 and their "
        "speeds / 2; 1 output from 0 to 1 (limited to it), the force from -10 to 10 N. By default "
        "the rules of 2008 with velocities; solved: 100,000 steps held.");
}

}  // namespace cambrian::evolve
