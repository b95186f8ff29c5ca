#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/tests/evolve/support/task_support.hpp"

namespace cambrian::evolve {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

constexpr std::string_view two_relus =
    R"({"layers": [{"type": "dense", "out": 2, "activation": "relu"}, {"type": "dense"}]})";

TEST(XorTask, KnownSolutionReachesFour) {
    const auto task = testing::standard_task(R"({"type": "xor"})");
    const auto backend = make_reference_backend(Precision::f32);
    Genome genome = testing::genome_for(*task, two_relus);
    // relu(a + b) − 2·relu(a + b − 1)
    genome.weights = {1, 1, 1, 1, 0, -1, 1, -2, 0};
    const Evaluation result = testing::evaluate_one(*backend, *task, genome);
    EXPECT_EQ(result.fitness, 4.0);
    EXPECT_THAT(result.per_sample, ElementsAre(0, 0, 0, 0));
}

TEST(XorTask, FitnessIsFourMinusSquaredErrorsOfTheRawOutput) {
    const auto task = testing::standard_task(R"({"type": "xor"})");
    const auto backend = make_reference_backend(Precision::f32);
    Genome genome = testing::genome_for(*task, R"({"layers": [{"type": "dense"}]})");
    genome.weights = {2, 0.5F, -1};  // 2a + b/2 − 1
    const Evaluation result = testing::evaluate_one(*backend, *task, genome);
    EXPECT_THAT(result.per_sample, ElementsAre(1, 2.25, 0, 2.25));
    EXPECT_EQ(result.fitness, 4.0 - 5.5);
    EXPECT_EQ(result.env_steps, 0U);
}

TEST(XorTask, IsSolvedByFourAnswersOnTheRightSide) {
    const auto task = testing::standard_task(R"({"type": "xor"})");
    const std::optional<SolvedTest> solved = task->solved();
    ASSERT_TRUE(solved);
    EXPECT_EQ(solved->phase, Phase::champion);
    const auto backend = make_reference_backend(Precision::f32);
    Genome genome = testing::genome_for(*task, two_relus);
    const auto last_answer = [&](float value, Phase phase) {
        genome.weights = {1, 1, 1, 1, 0, -1, 1, value - 2, 0};
        return testing::evaluate_one(*backend, *task, genome, {.phase = phase}).fitness;
    };
    // A fitness that many call solved, and one answer of four wrong.
    EXPECT_GE(last_answer(0.5625F, Phase::train), 3.6);
    EXPECT_EQ(last_answer(0.5625F, Phase::champion), 0.75);
    // .5 is on neither side.
    EXPECT_EQ(last_answer(0.5F, Phase::champion), 0.75);
    EXPECT_EQ(last_answer(0.4375F, Phase::champion), solved->passes);
    EXPECT_GE(last_answer(0.4375F, Phase::train), solved->candidate);
}

TEST(XorTask, AnswersBeyondZeroAndOneAreTestedLater) {
    const auto task = testing::standard_task(R"({"type": "xor"})");
    const auto backend = make_reference_backend(Precision::f32);
    Genome genome = testing::genome_for(*task, two_relus);
    genome.weights = {1, 1, 1, 1, 0, -1, 2.25F, -4.5F, -0.625F};
    const auto fitness = [&](Phase phase) {
        return testing::evaluate_one(*backend, *task, genome, {.phase = phase}).fitness;
    };
    EXPECT_EQ(fitness(Phase::champion), task->solved()->passes);
    EXPECT_LT(fitness(Phase::train), task->solved()->candidate);
    EXPECT_THAT(standard_tasks().schema().at("xor").at("description").get<std::string>(),
                HasSubstr("tested from a fitness of 3 on"));
}

TEST(XorTask, NeitherDrawsNorValidates) {
    const TaskSignature signature = testing::standard_task(R"({"type": "xor"})")->signature();
    EXPECT_EQ(signature.observations, 2);
    EXPECT_EQ(signature.outputs, 1);
    EXPECT_FALSE(signature.time || signature.stochastic || signature.validates || signature.host);
}

TEST(TaskRegistry, NamesWhatIsWrongAndWhatIsNearest) {
    const auto error = [](std::string_view settings) {
        return testing::message_of<ConfigError>([&] { (void)testing::standard_task(settings); });
    };
    EXPECT_THAT(error(R"({"type": "xro"})"),
                AllOf(HasSubstr("\"xro\""), HasSubstr("did you mean \"xor\"?")));
    EXPECT_THAT(error(R"({"typ": "xor"})"), AllOf(HasSubstr("task.type is missing"),
                                                  HasSubstr("cart_pole"), HasSubstr("table, xor")));
    EXPECT_THAT(error(R"({"type": "xor", "episodes": 3})"),
                HasSubstr("task.episodes is not a key"));
}

TEST(TaskRegistry, NameIsTakenOnce) {
    TaskRegistry registry = standard_tasks();
    const auto factory = [](const nlohmann::json&, const TaskContext&) -> std::unique_ptr<Task> {
        return make_callback_task(
            1, 1, [](Population& population) { return std::vector<double>(population.size()); });
    };
    registry.add("mine", factory);
    EXPECT_THAT(registry.names(), IsSupersetOf({"cart_pole", "dataset", "mine", "table", "xor"}));
    EXPECT_EQ(registry.make(nlohmann::json{{"type", "mine"}}, {})->type(), "callback");
    EXPECT_THAT(testing::message_of<ConfigError>([&] { registry.add("xor", factory); }),
                HasSubstr("registered twice"));
    for (const char* odd : {"", "two words", "a/b", "Mine", "task-2"})
        EXPECT_THAT(testing::message_of<ConfigError>([&] { registry.add(odd, factory); }),
                    HasSubstr("names are of small letters"))
            << odd;
    // A task that declares no keys has none, so that a misspelt one is no silent default.
    EXPECT_THAT(testing::message_of<ConfigError>([&] {
                    (void)registry.make(nlohmann::json{{"type", "mine"}, {"stepz", 300}}, {});
                }),
                HasSubstr("task.stepz is not a key of task \"mine\" (it has none)"));
    registry.add("keyed", factory, {"steps"});
    EXPECT_EQ(registry.make(nlohmann::json{{"type", "keyed"}, {"steps", 3}}, {})->type(),
              "callback");
    EXPECT_THAT(testing::message_of<ConfigError>([&] {
                    (void)registry.make(nlohmann::json{{"type", "keyed"}, {"stepz", 300}}, {});
                }),
                HasSubstr("did you mean \"steps\"?"));
}

TEST(TaskFit, StateNeedsTime) {
    const auto still = testing::standard_task(R"({"type": "xor"})");
    const auto moving = testing::standard_task(R"({"type": "cart_pole"})");
    constexpr std::string_view recurrent =
        R"({"layers": [{"type": "rnn", "hidden": 3}, {"type": "dense"}]})";
    const Genome remembers = testing::genome_for(*still, recurrent);
    EXPECT_THAT(
        testing::message_of<ConfigError>([&] { check_task_fits(*still, remembers.blueprint); }),
        AllOf(HasSubstr("slot 0 (rnn)"), HasSubstr("keeps state"), HasSubstr("xor")));
    EXPECT_NO_THROW(check_task_fits(*moving, testing::genome_for(*moving, recurrent).blueprint));

    Blueprint meshed = testing::genome_for(*still, two_relus).blueprint;
    meshed.mode = NetworkMode::mesh;
    EXPECT_THAT(testing::message_of<ConfigError>([&] { check_task_fits(*still, meshed); }),
                HasSubstr("mode mesh of the network keeps state"));

    Blueprint linked = testing::genome_for(*still, two_relus).blueprint;
    EXPECT_NO_THROW(check_task_fits(*still, linked));
    linked.links.push_back({.source = 0, .target = 0, .kind = LinkKind::backward});
    EXPECT_THAT(testing::message_of<ConfigError>([&] { check_task_fits(*still, linked); }),
                HasSubstr("backward link"));
}

TEST(TaskFit, WidthsMustAgree) {
    const auto xor_task = testing::standard_task(R"({"type": "xor"})");
    const auto cart_pole = testing::standard_task(R"({"type": "cart_pole"})");
    const Genome genome = testing::genome_for(*xor_task, two_relus);
    EXPECT_THAT(
        testing::message_of<ConfigError>([&] { check_task_fits(*cart_pole, genome.blueprint); }),
        AllOf(HasSubstr("reads 2 and writes 1"), HasSubstr("cart_pole gives 4")));
}

}  // namespace
}  // namespace cambrian::evolve
