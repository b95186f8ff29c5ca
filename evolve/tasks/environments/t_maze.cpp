#include <fmt/format.h>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/tasks/environments/motion.hpp"

namespace cambrian::evolve {
namespace t_maze {

struct TMazeSettings {
    std::int64_t hall = 3;
    std::int64_t trials = 100;
    std::int64_t flip_spread = 15;
    double high_reward = 1.0;
    double low_reward = 0.2;
    double wall_penalty = 0.4;

    static constexpr auto fields = FieldTable{
        Field{"hall", &TMazeSettings::hall, FieldRange{1.0, 100.0},
              "Steps from the start up to the fork, and from there to either end."},
        Field{"trials", &TMazeSettings::trials, FieldRange{1.0, 10000.0},
              "Walks of an episode; the network is not reset between them."},
        Field{"flip_spread", &TMazeSettings::flip_spread, FieldRange{0.0, 5000.0},
              "The rewarding side changes once, at half of the trials give or take so many."},
        Field{"high_reward", &TMazeSettings::high_reward, FieldRange{-100.0, 100.0},
              "At the end of the rewarding side."},
        Field{"low_reward", &TMazeSettings::low_reward, FieldRange{-100.0, 100.0},
              "At the end of the other side."},
        Field{"wall_penalty", &TMazeSettings::wall_penalty, FieldRange{0.0, 100.0},
              "For a step into a wall, which ends the trial."},
    };
    bool operator==(const TMazeSettings&) const = default;
};

/// A walk to one of two ends, again and again, one of which pays more until they change places: the
/// T-maze of PyTorch-NEAT, which asks for memory or for learning in a life. State: steps up, steps
/// to the right of the fork, whether the trial is over, its colour, trials before, the rewarding
/// side (0 left, 1 right), and the trial that changes it.
class TMaze final : public Environment {
  public:
    explicit TMaze(const TMazeSettings& settings)
        : settings_(settings), hall_(static_cast<double>(settings.hall)) {
        if (2 * settings.flip_spread >= settings.trials)
            throw ConfigError(fmt::format(
                "task.flip_spread is {} (half of {} trials, so that the sides might never change) "
                "use less, or more trials",
                settings.flip_spread, settings.trials));
    }
    std::string_view type() const override { return "t_maze"; }
    std::int64_t observations() const override { return 4; }
    std::int64_t outputs() const override { return 3; }
    std::int64_t reset_draws() const override { return 1; }
    std::int64_t steps() const override {
        return std::max(10 * settings_.trials - 1, (2 * settings_.hall + 1) * settings_.trials);
    }
    /// Of the maze as it is published: to stay with what paid and leave what did not gives 98.4.
    std::optional<Solution> solution() const override {
        if (settings_ != TMazeSettings{}) return std::nullopt;
        return Solution{.candidate = 97.0, .passes = 97.0};
    }
    /// A walk takes hall steps up, as many to a side, and one back to the start.
    double max_score(std::int64_t steps) const override {
        const std::int64_t walks = (steps + 1) / (2 * settings_.hall + 1);
        return settings_.high_reward * static_cast<double>(std::min(walks, settings_.trials));
    }

    std::vector<Var> reset(Var draws) const override {
        Graph& graph = *draws.graph;
        const std::int64_t episodes = draws.shape()[0];
        const Var zero = filled(graph, draws.shape(), 0.0);
        // Right, left, right, left in the episodes one after another.
        const Var number = reshape(cast(iota(graph, episodes), ValueType::real), {episodes, 1});
        const Var side = 1.0 - (number - floor(number / 2.0) * 2.0);
        const auto spread = static_cast<double>(settings_.flip_spread);
        const Var flip = floor(draws * (2.0 * spread + 1.0)) - spread +
                         static_cast<double>(settings_.trials / 2);
        return {zero, zero, zero, zero, zero, side, flip};
    }

    Var observe(std::span<const Var> state) const override {
        const Var at_fork = equal(state[0], constant(*state[0].graph, hall_));
        const auto wall = [&](Var open) { return cast(logical_not(open), ValueType::real); };
        return concat(
            std::array{wall(logical_and(at_fork, greater(state[1], level(state[1], -hall_)))),
                       cast(at_fork, ValueType::real),
                       wall(logical_and(at_fork, less(state[1], level(state[1], hall_)))),
                       state[3]},
            1);
    }

    EnvironmentStep step(std::span<const Var> state, Var output) const override {
        CAMBRIAN_EXPECT(state.size() == 7);
        const Var over = not_equal(state[2], level(output, 0.0));
        const Walk walk = walked(state, output);

        // The step after the end of a trial goes back to the start, whatever the network says.
        const Var zero = level(output, 0.0);
        const Var trial = state[4] + state[2];
        const Var changes = logical_and(over, equal(trial, state[6]));
        const auto unless_over = [&](Var value) { return select(over, zero, value); };
        return {
            .state = {unless_over(walk.up), unless_over(walk.right),
                      unless_over(cast(walk.ends, ValueType::real)), unless_over(walk.colour),
                      trial, select(changes, 1.0 - state[5], state[5]), state[6]},
            .reward = per_episode(unless_over(walk.reward)),
            .done = per_episode(logical_and(
                over, less_equal(level(output, static_cast<double>(settings_.trials)), trial)))};
    }

    std::optional<Picture> picture(EpisodeState state) const override {
        Picture picture({-hall_ - 1.0, -1.0}, {hall_ + 1.0, hall_ + 1.6}, 0.12);
        picture.line(Picture::Ink::faint, 0.8, {0.0, -0.4}, {0.0, hall_});
        picture.line(Picture::Ink::faint, 0.8, {-hall_ - 0.4, hall_}, {hall_ + 0.4, hall_});
        const double better = state[5][0] == 0.0 ? -hall_ : hall_;
        picture.circle(Picture::Ink::goal, {better, hall_}, 0.35);
        picture.circle(Picture::Ink::goal, {-better, hall_}, 0.12);
        picture.circle(Picture::Ink::body, {state[1][0], state[0][0]}, 0.25);
        return picture.text(
            {0.0, hall_ + 0.9}, 0.4,
            fmt::format("walk {:.0f} of {}{}",
                        std::min(state[4][0] + 1.0, static_cast<double>(settings_.trials)),
                        settings_.trials,
                        state[2][0] == 0.0   ? std::string()
                        : state[3][0] == 0.0 ? std::string(": a wall")
                                             : fmt::format(": {:.3g}", state[3][0])));
    }

  private:
    struct Walk {
        Var up, right, colour, reward;
        Var ends;  ///< Whether it ends the trial.
    };

    [[nodiscard]] static Var level(Var beside, double value) {
        return constant(*beside.graph, value);
    }

    /// A step to the left, up or to the right.
    [[nodiscard]] Walk walked(std::span<const Var> state, Var output) const {
        const Var way = first_largest(output);
        const Var goes_up = equal(way, level(output, 1.0));
        const Var at_fork = equal(state[0], level(output, hall_));
        const Var up = state[0] + cast(goes_up, ValueType::real);
        const Var right = state[1] + (way - 1.0);
        const Var open = select(goes_up, logical_not(at_fork),
                                logical_and(at_fork, logical_not(outside(right, hall_))));
        const Var arrives =
            logical_and(open, logical_and(at_fork, equal(abs(right), level(output, hall_))));
        const Var side = cast(less(level(output, 0.0), right), ValueType::real);
        const Var pay = select(equal(side, state[5]), level(output, settings_.high_reward),
                               level(output, settings_.low_reward));
        const Var colour = select(arrives, pay, level(output, 0.0));
        return {.up = select(open, up, state[0]),
                .right = select(open, right, state[1]),
                .colour = colour,
                .reward = select(open, colour, level(output, -settings_.wall_penalty)),
                .ends = logical_or(arrives, logical_not(open))};
    }

    TMazeSettings settings_;
    double hall_;
};

}  // namespace t_maze

TaskKind t_maze_task() {
    using namespace t_maze;
    return rollout_task<TMazeSettings>(
        [](const TMazeSettings& settings) { return std::make_unique<TMaze>(settings); },
        "The T-maze of PyTorch-NEAT: walls to the left, above and to the right, colour of the end; "
        "3 outputs (argmax: left, up, right); reward of 100 walks, the better side changes; "
        "solved: "
        "a mean of 97 over 4 episodes.",
        {.episodes = 4, .champion = {.episodes = 4}});
}

}  // namespace cambrian::evolve
