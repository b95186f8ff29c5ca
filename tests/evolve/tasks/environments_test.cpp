#include <fmt/format.h>

#include <array>
#include <numbers>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/evolve/tasks/environment.hpp"
#include "cambrian/tests/evolve/support/task_support.hpp"

// What holds for every environment, and what tells them apart. Their dynamics are held to known
// trajectories: tests/conformance/golden_environments.cpp.
namespace cambrian::evolve {
namespace environments_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::array<std::string_view, 12> environments{
    R"("acrobot")",
    R"("acrobot", "equations": "nips")",
    R"("cart_pole")",
    R"("cart_pole", "variant": "stanley", "bias_input": true)",
    R"("double_pole")",
    R"("double_pole", "velocities": false, "fitness": "damping", "bias_input": true)",
    R"("mountain_car")",
    R"("mountain_car_continuous")",
    R"("pendulum")",
    R"("swing_up")",
    R"("swing_up", "start": "hard", "seconds_per_step": 0.05)",
    R"("t_maze")",
};

std::unique_ptr<Task> task_of(std::string_view settings) {
    return testing::standard_task(fmt::format(R"({{"type": {}}})", settings));
}

std::string error_of(std::string_view settings) {
    return testing::message_of<ConfigError>([&] { (void)task_of(settings); });
}

/// The first state of an episode for the same draw in every place.
std::vector<double> start(std::string_view settings, double draw) {
    const auto task = task_of(settings);
    const Environment& environment = *environment_of(*task);
    Graph graph;
    const std::int64_t draws = std::max<std::int64_t>(environment.reset_draws(), 1);
    for (const Var state : environment.reset(filled(graph, Shape{1, draws}, draw)))
        graph.output(state);
    std::vector<double> numbers;
    for (const Tensor& state : evaluate(*make_reference_backend(Precision::f64), graph, 1, {}))
        numbers.push_back(state.elements.front());
    return numbers;
}

void expect_starts(std::string_view settings, const std::vector<double>& least,
                   const std::vector<double>& most) {
    SCOPED_TRACE(settings);
    const std::vector<double> low = start(settings, 0.0);
    const std::vector<double> high = start(settings, 1.0 - 0x1p-30);
    ASSERT_EQ(low.size(), least.size());
    for (std::size_t i = 0; i < low.size(); ++i) {
        EXPECT_NEAR(low[i], least[i], 1e-7);
        EXPECT_NEAR(high[i], most[i], 1e-7);
    }
}

TEST(Environments, StartWhereTheyAreDefinedTo) {
    constexpr double pi = std::numbers::pi;
    expect_starts(R"("cart_pole")", {-.05, -.05, -.05, -.05}, {.05, .05, .05, .05});
    // Whole thousandths, the upper ends left out.
    expect_starts(R"("cart_pole", "variant": "stanley")", {-2.4, -1, -.2, -1.5},
                  {2.399, .999, .199, 1.499});
    expect_starts(R"("acrobot")", {-.1, -.1, -.1, -.1}, {.1, .1, .1, .1});
    expect_starts(R"("mountain_car")", {-.6, 0}, {-.4, 0});
    expect_starts(R"("mountain_car_continuous")", {-.6, 0}, {-.4, 0});
    expect_starts(R"("pendulum")", {-pi, -1}, {pi, 1});
    expect_starts(R"("swing_up", "start": "hard")", {-2.4, -10, pi / 2, -10},
                  {2.4, 10, 1.5 * pi, 10});
    expect_starts(R"("double_pole", "start_angle": 0.07)", {0, 0, .07, 0, 0, 0},
                  {0, 0, .07, 0, 0, 0});
    expect_starts(R"("t_maze")", {0, 0, 0, 0, 0, 1, 35}, {0, 0, 0, 0, 0, 1, 65});
    // Normal deviates of a uniform of 0 are 0.
    EXPECT_NEAR(start(R"("swing_up")", 0.0)[2], pi, 1e-12);
}

TEST(Environments, GiveTheBitsOfTheReferenceOnTheCpu) {
    const auto cpu = make_cpu_backend({.threads = 2, .math = Math::strict});
    const auto reference = make_reference_backend(Precision::f32);
    for (const std::string_view settings : environments) {
        SCOPED_TRACE(settings);
        const auto task = task_of(fmt::format(R"({}, "steps": 40)", settings));
        const Genome genome = testing::genome_for(
            *task,
            R"({"layers": [{"type": "dense", "out": 5, "activation": "tanh"}, {"type": "dense"}]})");
        const Evaluation expected = testing::evaluate_one(*reference, *task, genome);
        const Evaluation found = testing::evaluate_one(*cpu, *task, genome);
        EXPECT_EQ(expected.status, Status::ok);
        EXPECT_EQ(found.fitness, expected.fitness);
        EXPECT_EQ(found.per_sample, expected.per_sample);
        EXPECT_EQ(found.env_steps, expected.env_steps);
        EXPECT_GT(found.env_steps, 0U);
    }
}

/// Infinity less infinity, whatever it sees.
Genome without_an_answer(const Task& task) {
    Genome genome = testing::genome_for(
        task,
        R"({"layers": [{"type": "dense", "out": 2, "activation": "square"}, {"type": "dense"}]})");
    const auto outputs = static_cast<std::size_t>(task.signature().outputs);
    std::ranges::fill(genome.weights, 0.0F);
    const std::size_t head = genome.weights.size() - 3 * outputs;
    genome.weights[head - 1] = genome.weights[head - 2] = 1e30F;  // biases of the first layer
    for (std::size_t i = 0; i < outputs; ++i) {
        genome.weights[head + 2 * i] = 1.0F;
        genome.weights[head + 2 * i + 1] = -1.0F;
    }
    return genome;
}

TEST(Environments, AnswersThatAreNoNumbersEndAnEpisodeWithoutAReturn) {
    const auto backend = make_cpu_backend({});
    for (const std::string_view settings : environments) {
        SCOPED_TRACE(settings);
        const auto task = task_of(settings);
        const Genome genome = without_an_answer(*task);
        const Evaluation found = testing::evaluate_one(*backend, *task, genome);
        EXPECT_EQ(found.status, Status::non_finite);
        // The first step of each episode is its last.
        EXPECT_LE(found.env_steps, 64U);
        if (const std::optional<SolvedTest> solved = task->solved()) {
            const Evaluation test =
                testing::evaluate_one(*backend, *task, genome, {.phase = solved->phase});
            EXPECT_FALSE(test.status == Status::ok && test.fitness >= solved->passes);
        }
    }
}

TEST(Environments, TheMeanOfEqualScoresIsEachOfThem) {
    const auto backend = make_cpu_backend({});
    for (const int episodes : {7, 30, 41, 47, 94}) {
        const auto task =
            task_of(fmt::format(R"("cart_pole", "episodes": {}, "steps": 5)", episodes));
        const Genome genome = testing::genome_for(*task, R"({"layers": [{"type": "dense"}]})");
        EXPECT_EQ(testing::evaluate_one(*backend, *task, genome).fitness, 5.0) << episodes;
    }
}

TEST(Environments, SayWhatSolvesThem) {
    const auto expect = [](std::string_view settings, double candidate, double passes) {
        SCOPED_TRACE(settings);
        const std::optional<SolvedTest> solved = task_of(settings)->solved();
        ASSERT_TRUE(solved);
        EXPECT_NEAR(solved->candidate, candidate, 2e-6);
        EXPECT_EQ(solved->passes, passes);
    };
    expect(R"("cart_pole")", 475, 475);
    expect(R"("cart_pole", "variant": "stanley")", 100'000, 100'000);
    expect(R"("acrobot")", -100, -100);
    expect(R"("mountain_car")", -110, -110);
    expect(R"("mountain_car_continuous")", 90, 90);
    expect(R"("pendulum")", -200, -200);
    expect(R"("swing_up")", 900, 900);
    expect(R"("swing_up", "start": "hard")", 667, 667);
    expect(R"("t_maze")", 97, 97);
    expect(R"("double_pole")", 100'000, 100'000);
    expect(R"("double_pole", "fitness": "damping")", .1, 100'000);
    expect(R"("double_pole", "fitness": "damping", "solved_by": "generalise")", .1, 200);
    EXPECT_FALSE(task_of(R"("swing_up", "seconds_per_step": 0.05)")->solved());
    EXPECT_FALSE(task_of(R"("cart_pole", "sutton_barto_reward": true)")->solved());
    for (const std::string_view other :
         {R"("trials": 40)", R"("high_reward": 2)", R"("low_reward": 1)", R"("flip_spread": 0)"})
        EXPECT_FALSE(task_of(fmt::format(R"("t_maze", {})", other))->solved()) << other;
    EXPECT_EQ(task_of(R"("cart_pole", "variant": "stanley")")->solved()->phase, Phase::train);
}

TEST(Environments, ShorterEpisodesAreCandidatesWithWhatTheyPay) {
    const auto expect = [](std::string_view settings, double candidate, double passes) {
        SCOPED_TRACE(settings);
        const std::optional<SolvedTest> solved = task_of(settings)->solved();
        ASSERT_TRUE(solved);
        EXPECT_NEAR(solved->candidate, candidate, 0.1);
        EXPECT_LE(solved->candidate, candidate);
        EXPECT_EQ(solved->passes, passes);
        EXPECT_EQ(solved->unreachable, "");
    };
    // 25 of 500 may lack, whenever.
    expect(R"("cart_pole", "steps": 200)", 175, 475);
    expect(R"("cart_pole", "steps": 900)", 475, 475);
    expect(R"("swing_up", "steps": 500)", 400, 900);
    expect(R"("double_pole", "steps": 1000)", 1000, 100'000);
    expect(R"("double_pole", "fitness": "damping", "steps": 500)", .05, 100'000);
    expect(R"("t_maze", "steps": 350)", 47, 97);
    expect(R"("t_maze", "steps": 700)", 97, 97);
    expect(R"("mountain_car", "steps": 120)", -110, -110);
    expect(R"("pendulum", "steps": 100)", -200, -200);
}

TEST(Environments, AMarkOfTheTrainFitnessMayBeOutOfReach) {
    const auto unreachable = [](std::string_view steps) {
        return task_of(fmt::format(R"("cart_pole", "variant": "stanley"{})", steps))
            ->solved()
            ->unreachable;
    };
    EXPECT_EQ(unreachable(""), "");
    EXPECT_EQ(unreachable(R"(, "steps": 200000)"), "");
    EXPECT_THAT(unreachable(R"(, "steps": 99999)"),
                AllOf(HasSubstr("task.steps is 99999"), HasSubstr("and 100000 solve it")));
}

TEST(Environments, AreTestedOnWholeEpisodesHoweverShortTheyTrain) {
    const auto backend = make_cpu_backend({});
    const auto task =
        task_of(R"("cart_pole", "episodes": 2, "steps": 20, "champion": {"episodes": 7})");
    Genome genome = testing::genome_for(*task, R"({"layers": [{"type": "dense"}]})");
    genome.weights = {0, 0, 0, 0, 0.5F, 1, 10, 3, 0, 0};
    EXPECT_EQ(testing::evaluate_one(*backend, *task, genome).env_steps, 40U);
    const Evaluation test =
        testing::evaluate_one(*backend, *task, genome, {.phase = Phase::champion});
    EXPECT_NEAR(test.fitness, 500.0, 1e-3);
    EXPECT_EQ(test.per_sample.size(), 7U);
}

TEST(Environments, WithoutDrawsAreTheSameInEveryEvaluation) {
    const auto task = task_of(R"("double_pole")");
    EXPECT_FALSE(task->signature().stochastic);
    EXPECT_FALSE(task->signature().validates);
    EXPECT_EQ(task->with_episodes(5), nullptr);
    EXPECT_THAT(error_of(R"("double_pole", "episodes": 5)"),
                HasSubstr("task.episodes is not a key"));
    for (const char* more : {"", R"(, "solved_by": "generalise")"})
        for (const Phase phase : {Phase::train, Phase::champion})
            EXPECT_THAT(task_of(std::string(R"("double_pole")") + more)->draws(phase, 1, 0),
                        IsEmpty());
}

TEST(DoublePole, ATestOfManyStartsNeedsTheFirstOneToHold) {
    const auto backend = make_cpu_backend({});
    const auto task = task_of(R"("double_pole", "solved_by": "generalise", "hold_steps": 3)");
    const Genome genome = testing::genome_for(*task, R"({"layers": [{"type": "dense"}]})");
    const auto test = testing::evaluate_one(*backend, *task, genome, {.phase = Phase::champion});
    EXPECT_EQ(test.per_sample.size(), 625U);
    EXPECT_LT(test.fitness, 625.0);
    const auto longer = task_of(R"("double_pole", "solved_by": "generalise", "hold_steps": 2000)");
    const auto failed =
        testing::evaluate_one(*backend, *longer, genome, {.phase = Phase::champion});
    EXPECT_EQ(failed.fitness, 0.0);
    EXPECT_LT(failed.env_steps, 2000) << "the other starts are not run";
    EXPECT_THAT(failed.per_sample, ::testing::Each(0.0));
}

TEST(DoublePole, WhoHoldsForFewStepsIsACandidate) {
    const auto backend = make_cpu_backend({});
    const auto settings = [](int hold, const char* more) {
        return fmt::format(R"("double_pole", "fitness": "damping", "hold_steps": {}{})", hold,
                           more);
    };
    for (const int hold : {5, 10}) {
        const auto task = task_of(settings(hold, ""));
        const SolvedTest solved = task->solved().value();
        EXPECT_NEAR(solved.candidate, 1e-4 * hold, 2e-6);
        Genome genome = testing::genome_for(*task, R"({"layers": [{"type": "dense"}]})");
        std::ranges::fill(genome.weights, 0.0F);
        genome.weights.back() = 0.5F;  // Hardly any force.
        const auto fitness = [&](Phase phase) {
            return testing::evaluate_one(*backend, *task, genome, {.phase = phase}).fitness;
        };
        EXPECT_GE(fitness(Phase::champion), solved.passes);
        EXPECT_GE(fitness(Phase::train), solved.candidate);
        EXPECT_LT(fitness(Phase::train), 0.1);
    }
    const auto candidate = [&](int hold, const char* more) {
        return task_of(settings(hold, more))->solved()->candidate;
    };
    EXPECT_NEAR(candidate(5, R"(, "solved_by": "generalise")"), 5e-4, 2e-6);
    // Shorter episodes still pay for as many steps as they have.
    EXPECT_NEAR(candidate(5, R"(, "steps": 3)"), 3e-4, 2e-6);
    EXPECT_NEAR(candidate(5, R"(, "steps": 8)"), 5e-4, 2e-6);
    EXPECT_NEAR(candidate(2000, R"(, "steps": 8)"), 8e-4, 2e-6);
}

/// Velocity of the cart after one reaction to an output.
double pushed(std::string_view settings, double output) {
    const auto task = task_of(settings);
    const Environment& environment = *environment_of(*task);
    Graph graph;
    const std::vector<Var> rest(6, filled(graph, Shape{1, 1}, 0.0));
    graph.output(environment.step(rest, filled(graph, Shape{1, 1}, output)).state[1]);
    return evaluate(*make_reference_backend(Precision::f64), graph, 1, {})[0].elements[0];
}

TEST(DoublePole, NoForceIsWeakerThanTheRulesSay) {
    const double least = pushed(R"("double_pole")", 0.5);
    EXPECT_GT(least, 0.0);
    EXPECT_EQ(pushed(R"("double_pole")", 0.5009), least);
    EXPECT_GT(pushed(R"("double_pole")", 0.51), least);
    EXPECT_NEAR(pushed(R"("double_pole")", 0.4991), -least, 1e-12);
    EXPECT_EQ(pushed(R"("double_pole", "min_force": 0)", 0.5), 0.0);
    // 10 N at most.
    EXPECT_EQ(pushed(R"("double_pole")", 7.0), pushed(R"("double_pole")", 1.0));
}

TEST(Environments, BadSettingsNameKeyAndRange) {
    EXPECT_THAT(
        error_of(R"("double_pole", "velocites": true)"),
        AllOf(HasSubstr("task.velocites is not a key"), HasSubstr("did you mean \"velocities\"?")));
    EXPECT_THAT(error_of(R"("double_pole", "start_angle": 2)"), HasSubstr("task.start_angle is 2"));
    EXPECT_THAT(error_of(R"("double_pole", "fitness": "damped")"),
                AllOf(HasSubstr("task.fitness"), HasSubstr("standard, damping")));
    EXPECT_THAT(error_of(R"("swing_up", "start": "medium")"), HasSubstr("easy, hard"));
    EXPECT_THAT(error_of(R"("swing_up", "seconds_per_step": 0)"),
                HasSubstr("task.seconds_per_step is 0"));
    EXPECT_THAT(error_of(R"("acrobot", "equations": "gym")"), HasSubstr("book, nips"));
    EXPECT_THAT(error_of(R"("t_maze", "trials": 20)"), HasSubstr("task.flip_spread is 15"));
    EXPECT_THAT(error_of(R"("pendulum", "steps": 20001)"),
                AllOf(HasSubstr("task.steps is 20001"), HasSubstr("20000")));
    EXPECT_THAT(error_of(R"("pendulum", "champion": {"episodes": 0})"),
                HasSubstr("task.champion.episodes is 0"));
}

/// A world of a program's own: a counter that a network may let run.
struct CounterSettings {
    double goal = 3.0;
    static constexpr auto fields = FieldTable{
        Field{"goal", &CounterSettings::goal, FieldRange{1.0, 9.0}, "Where it ends."},
    };
};

/// @param draws of the start, which is the same whatever they are.
/// @param test what solves it; null: nobody says.
class Counter final : public Environment {
  public:
    explicit Counter(const CounterSettings& settings, std::int64_t draws = 1,
                     std::shared_ptr<const Environment> test = nullptr)
        : goal_(settings.goal), draws_(draws), test_(std::move(test)) {}
    std::string_view type() const override { return "counter"; }
    std::int64_t observations() const override { return 1; }
    std::int64_t outputs() const override { return 1; }
    std::int64_t reset_draws() const override { return draws_; }
    std::optional<Solution> solution() const override {
        if (!test_) return std::nullopt;
        return Solution{.candidate = goal_, .passes = goal_, .tests = {test_}};
    }
    std::vector<Var> reset(Var draws) const override { return {draws * 0.0}; }
    Var observe(std::span<const Var> state) const override { return state[0]; }
    EnvironmentStep step(std::span<const Var> state, Var output) const override {
        const std::int64_t episodes = output.shape()[0];
        const Var next = state[0] + 1.0;
        return {.state = {next},
                .reward = reshape(next * 0.0 + 1.0, {episodes}),
                .done = reshape(less_equal(constant(*output.graph, goal_), next), {episodes})};
    }

  private:
    double goal_;
    std::int64_t draws_;
    std::shared_ptr<const Environment> test_;
};

TEST(Environments, DrawWhereAnyEpisodeOfAPhaseHasADrawnStart) {
    const auto backend = make_cpu_backend({});
    for (const auto& [own, of_test] : {std::pair{1, 0}, {0, 1}, {1, 1}, {0, 0}}) {
        SCOPED_TRACE(fmt::format("{}, its test {}", own, of_test));
        const auto task = make_rollout_task(
            std::make_shared<Counter>(CounterSettings{}, own,
                                      std::make_shared<Counter>(CounterSettings{}, of_test)),
            {});
        const Genome genome = testing::genome_for(*task, R"({"layers": [{"type": "dense"}]})");
        EXPECT_EQ(task->draws(Phase::train, 1, 0).empty(), own == 0);
        EXPECT_EQ(task->draws(Phase::champion, 1, 0).empty(), of_test == 0);
        for (const Phase phase : {Phase::train, Phase::champion})
            EXPECT_EQ(testing::evaluate_one(*backend, *task, genome, {.phase = phase}).fitness,
                      3.0);
    }
}

TEST(Environments, OfAProgramOfOnesOwnHaveSettingsThatAreChecked) {
    TaskRegistry tasks;
    tasks.add(rollout_task<CounterSettings>(
        [](const CounterSettings& settings) { return std::make_unique<Counter>(settings); },
        "Counts."));
    const auto make = [&](std::string_view text) {
        return tasks.make(nlohmann::json::parse(text), {});
    };
    const auto task = make(R"({"type": "counter", "goal": 7, "episodes": 2})");
    const Genome genome = testing::genome_for(*task, R"({"layers": [{"type": "dense"}]})");
    EXPECT_EQ(testing::evaluate_one(*make_cpu_backend({}), *task, genome).fitness, 7.0);
    EXPECT_FALSE(task->solved());
    const auto error = [&](std::string_view text) {
        return testing::message_of<ConfigError>([&] { (void)make(text); });
    };
    EXPECT_THAT(error(R"({"type": "counter", "gaol": 7})"), HasSubstr("did you mean \"goal\"?"));
    EXPECT_THAT(error(R"({"type": "counter", "goal": 10})"), HasSubstr("task.goal is 10"));
    const auto properties = tasks.schema()["counter"]["properties"];
    EXPECT_EQ(properties["goal"]["default"], 3.0);
    EXPECT_EQ(properties["episodes"]["default"], 5);
}

}  // namespace environments_test
}  // namespace cambrian::evolve
