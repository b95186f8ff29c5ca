#include <algorithm>
#include <cmath>
#include <numbers>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/evolve/tasks/samples/samples.hpp"
#include "cambrian/tests/evolve/support/fixed_answers.hpp"
#include "cambrian/tests/evolve/support/task_support.hpp"

namespace cambrian::evolve {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Numbers = std::vector<double>;

std::string refusal(std::string_view settings) {
    return testing::message_of<ConfigError>([&] { (void)testing::standard_task(settings); });
}

/// Answers of scored steps, with zeros at the steps before them.
Tensor in_time(const Tensor& scored, const Tensor& inputs) {
    if (inputs.shape.rank() == 2) return scored;
    const std::int64_t width = scored.shape[2];
    Tensor result(ValueType::real, Shape{inputs.shape[0], inputs.shape[1], width});
    const auto each = static_cast<std::size_t>(scored.shape[1] * width);
    const auto steps = static_cast<std::size_t>(inputs.shape[1] * width);
    for (std::size_t i = 0; i < scored.elements.size(); ++i)
        result.elements[i / each * steps + steps - each + i % each] = scored.elements[i];
    return result;
}

TEST(BitsTask, ClampsOutputsAndCountsRowsOnTheirSide) {
    const auto task = testing::standard_task(R"({"type": "parity", "bits": 2})");
    EXPECT_THAT(task->data(Phase::train)[0].elements, ElementsAre(0, 0, 1, 0, 0, 1, 1, 1));
    EXPECT_THAT(task->data(Phase::train)[1].elements, ElementsAre(0, 1, 1, 0));
    const auto backend = make_reference_backend(Precision::f32);
    const auto judge = [&](const Numbers& outputs) {
        return testing::judge_answers(*backend, *task,
                                      Tensor(ValueType::real, Shape{4, 1}, outputs));
    };
    // Errors of 0 (far below), 0.5, 0 (far above) and 0.5: a half is no yes.
    EXPECT_EQ(judge({-3, 0.5, 7, 0.5}).fitness, 3.5);
    EXPECT_EQ(judge({-3, 0.5, 7, 0.5}).accuracy, 0.75);
    EXPECT_EQ(judge({0, 1, 1, 0}).fitness, 4.0);
    EXPECT_TRUE(std::isnan(judge({0, std::nan(""), 1, 0}).fitness));
}

TEST(BitsTask, BonusIsForAllRowsAlone) {
    const auto task =
        testing::standard_task(R"({"type": "multiplexer", "address_bits": 1, "bonus": 100})");
    const auto backend = make_reference_backend(Precision::f32);
    Tensor outputs(ValueType::real, Shape{8, 1}, task->data(Phase::train)[1].elements);
    EXPECT_EQ(testing::judge_answers(*backend, *task, outputs).fitness, 108.0);
    // Address 1 and the second data bit, which alone is 1: row 5.
    EXPECT_EQ(outputs.elements[5], 1.0);
    outputs.elements[5] = 0.5;
    EXPECT_EQ(testing::judge_answers(*backend, *task, outputs).fitness, 7.75);
    EXPECT_EQ(testing::judge_answers(*backend, *task, outputs).accuracy, 0.875);
}

TEST(BitsTask, ARowIsRightWhereAllItsOutputsAre) {
    const auto task = testing::standard_task(R"({"type": "retina", "goal": "both"})");
    EXPECT_EQ(task->signature().outputs, 2);
    const auto backend = make_reference_backend(Precision::f32);
    Tensor outputs(ValueType::real, Shape{256, 2}, task->data(Phase::train)[1].elements);
    EXPECT_EQ(testing::judge_answers(*backend, *task, outputs).fitness, 256.0);
    for (const std::size_t element : {0U, 1U, 2U})
        outputs.elements[element] = 1.0 - outputs.elements[element];
    const testing::Judged judged = testing::judge_answers(*backend, *task, outputs);
    EXPECT_EQ(judged.fitness, 254.5);
    EXPECT_EQ(judged.accuracy, 254.0 / 256.0);
}

TEST(BitsTask, RowsTrainByGradientAndSequencesDoNot) {
    for (const char* settings :
         {R"({"type": "parity"})", R"({"type": "multiplexer", "address_bits": 3})",
          R"({"type": "retina"})", R"({"type": "spirals"})"}) {
        const auto task = testing::standard_task(settings);
        ASSERT_NE(task->learning(), nullptr) << settings;
        EXPECT_EQ(task->learning()->data.train.rows(), task->data(Phase::train)[1].shape[0]);
        EXPECT_FALSE(task->signature().time || task->signature().stochastic) << settings;
    }
    EXPECT_EQ(testing::standard_task(R"({"type": "delayed_copy"})")->learning(), nullptr);
}

TEST(BitsTask, IsSolvedWhereAllAnswersAreRightHoweverNear) {
    const auto backend = make_cpu_backend({.threads = 1, .math = Math::strict});
    for (const char* settings :
         {R"({"type": "parity", "bits": 5})", R"({"type": "multiplexer", "address_bits": 3})",
          R"({"type": "retina", "goal": "both"})", R"({"type": "spirals"})",
          R"({"type": "delayed_copy", "width": 3, "delay": 2, "length": 11,
              "validation_sequences": 13})"}) {
        SCOPED_TRACE(settings);
        const auto task = testing::standard_task(settings);
        const SolvedTest test = task->solved().value();
        EXPECT_EQ(test.phase, Phase::champion);
        const auto judge = [&](Phase phase, bool one_is_wrong) {
            const std::vector<Tensor> data = task->data(phase);
            Tensor outputs = data[1];
            for (double& output : outputs.elements) output = output == 1.0 ? 0.51 : 0.49;
            if (one_is_wrong) outputs.elements.front() = 1.0 - outputs.elements.front();
            return testing::judge_answers(*backend, *task, in_time(outputs, data[0]), phase);
        };
        EXPECT_GE(judge(Phase::train, false).fitness, test.candidate);
        EXPECT_EQ(judge(Phase::champion, false).fitness, test.passes);
        EXPECT_LT(judge(Phase::champion, true).fitness, test.passes);
    }
}

TEST(Spirals, AreOnePointAndItsMirrorImage) {
    const auto task = testing::standard_task(R"({"type": "spirals"})");
    const auto train = task->data(Phase::train);
    ASSERT_EQ(train[1].elements.size(), 194U);
    EXPECT_EQ(task->data(Phase::test)[1].elements.size(), 192U);
    EXPECT_THAT(Numbers(train[0].elements.begin(), train[0].elements.begin() + 4),
                ElementsAre(0, 6.5, 0, -6.5));
    for (std::size_t i = 0; i < 97; ++i) {
        const double x = train[0].elements[4 * i];
        const double y = train[0].elements[4 * i + 1];
        EXPECT_EQ(train[0].elements[4 * i + 2], -x);
        const double turn = static_cast<double>(i) * std::numbers::pi / 16.0;
        EXPECT_NEAR(std::hypot(x, y), 6.5 * (104.0 - static_cast<double>(i)) / 104.0, 1e-14);
        EXPECT_NEAR(x * std::cos(turn), y * std::sin(turn), 1e-13);
    }
}

TEST(DelayedCopy, WantsItemsBackInOrder) {
    const BitStrings strings{2, 3, 1, {1, 0, 0, 0, 1, 1}};
    const Samples delay = delay_samples(strings, 2);
    EXPECT_EQ(delay.inputs.shape, (Shape{2, 3, 1}));
    EXPECT_EQ(delay.targets.shape, (Shape{2, 1, 1}));
    EXPECT_THAT(delay.targets.elements, ElementsAre(1, 0));
    const Samples copy = copy_samples({1, 2, 1, {1, 0}});
    EXPECT_THAT(copy.inputs.elements, ElementsAre(1, 0, 0, 0, 0, 1, 0, 0, 0, 0));
    const Samples recall = recall_samples({1, 2, 1, {1, 0}});
    EXPECT_THAT(recall.inputs.elements, ElementsAre(1, 0, 0, 0, 0, 1, 0, 1));
    EXPECT_THAT(recall.targets.elements, ElementsAre(1, 0));
}

TEST(DelayedCopy, PartsAndSeedsHaveTheirOwnBits) {
    const auto bits = [](std::string_view settings, Phase phase) {
        return testing::standard_task(settings)->data(phase)[0].elements;
    };
    constexpr std::string_view plain = R"({"type": "delayed_copy", "validation_sequences": 64})";
    const Numbers train = bits(plain, Phase::train);
    EXPECT_EQ(train, bits(plain, Phase::train));
    EXPECT_NE(train, bits(plain, Phase::validation));
    EXPECT_NE(train, bits(plain, Phase::test));
    EXPECT_NE(train, bits(R"({"type": "delayed_copy", "seed": 2})", Phase::train));
    // Of 832 fair bits, more than five deviations from the mean are wrong.
    const auto ones = static_cast<double>(std::ranges::count(train, 1.0));
    EXPECT_NEAR(ones, 416.0, 75.0);
}

/// An rnn without weights but those that pass the input on a step later.
TEST(DelayedCopy, AMemoryOfOneStepSolvesADelayOfOne) {
    const auto task = testing::standard_task(
        R"({"type": "delayed_copy", "delay": 1, "sequences": 5, "length": 7})");
    Tensor shifted(ValueType::real, Shape{5, 8, 1});
    const Numbers inputs = task->data(Phase::train)[0].elements;
    for (std::size_t i = 0; i < inputs.size(); ++i)
        if (i % 8 > 0) shifted.elements[i] = inputs[i - 1];
    const auto backend = make_reference_backend(Precision::f32);
    EXPECT_EQ(testing::judge_answers(*backend, *task, shifted).fitness, 1.0);
    EXPECT_EQ(testing::judge_answers(*backend, *task, shifted).accuracy, 1.0);
    const Tensor zeros(ValueType::real, Shape{5, 8, 1});
    const testing::Judged none = testing::judge_answers(*backend, *task, zeros);
    EXPECT_NEAR(none.fitness, none.accuracy, 1e-6);
    EXPECT_LT(none.accuracy, 1.0);
}

TEST(SeriesTask, FitnessIsMinusTheRootErrorByTheDeviation) {
    SeriesPart part;
    part.samples.inputs = Tensor(ValueType::real, Shape{1, 5, 1});
    part.samples.targets = Tensor(ValueType::real, Shape{1, 4, 1}, {1, 3, 1, 3});
    part.current = {1, 1, 3, 1};
    const auto task = make_series_task("series", {part, {}, part});
    EXPECT_TRUE(task->signature().tests && task->signature().time && task->signature().loss);
    EXPECT_FALSE(task->signature().validates || task->signature().stochastic);
    const auto backend = make_reference_backend(Precision::f32);
    // The first step is washed out; errors are 2, 0, 0, 0 and the variance is 1.
    const Tensor answers(ValueType::real, Shape{1, 5, 1}, {99, 3, 3, 1, 3});
    EXPECT_EQ(testing::judge_answers(*backend, *task, answers).fitness, -1.0);
    const auto baselines = task->baselines(Phase::train);
    ASSERT_EQ(baselines.size(), 2U);
    EXPECT_EQ(baselines[0].loss, 1.0);
    EXPECT_EQ(baselines[1].loss, std::sqrt(3.0));
    EXPECT_TRUE(task->baselines(Phase::validation).empty());
}

TEST(Narma10, PartsFollowOneAnother) {
    const auto task = testing::standard_task(
        R"({"type": "narma10", "washout": 20, "train_steps": 60, "validation_steps": 30,
            "test_steps": 10})");
    Numbers inputs;
    for (const Phase phase : {Phase::train, Phase::validation, Phase::test}) {
        const Numbers part = task->data(phase)[0].elements;
        inputs.insert(inputs.end(), part.begin(), part.end());
    }
    ASSERT_EQ(inputs.size(), 160U);
    EXPECT_THAT(inputs, Each(AllOf(::testing::Ge(0.0), ::testing::Lt(0.5))));
    const Numbers series = narma10(inputs);
    EXPECT_EQ(task->data(Phase::train)[1].elements,
              Numbers(series.begin() + 21, series.begin() + 81));
    EXPECT_EQ(task->data(Phase::validation)[1].elements,
              Numbers(series.begin() + 101, series.begin() + 131));
    EXPECT_EQ(task->data(Phase::test)[1].elements, Numbers(series.end() - 10, series.end()));
}

TEST(MackeyGlass, ValidationLiesBetweenTrainAndTest) {
    const auto task = testing::standard_task(
        R"({"type": "mackey_glass", "lags": [0], "washout": 3, "train_steps": 10,
            "validation_steps": 5, "test_steps": 4})");
    const auto all =
        testing::standard_task(R"({"type": "mackey_glass", "lags": [0], "train_steps": 40})");
    const Numbers series = all->data(Phase::train)[0].elements;
    EXPECT_EQ(task->data(Phase::train)[0].elements, Numbers(series.begin(), series.begin() + 13));
    EXPECT_EQ(task->data(Phase::validation)[0].elements,
              Numbers(series.begin() + 13, series.begin() + 21));
    EXPECT_EQ(task->data(Phase::test)[0].elements,
              Numbers(series.begin() + 21, series.begin() + 28));
    EXPECT_EQ(task->data(Phase::train)[1].elements,
              Numbers(series.begin() + 9, series.begin() + 19));
    // Held in a band around one, as it always is, and persistence is no good at all.
    EXPECT_THAT(series, Each(AllOf(::testing::Gt(0.2), ::testing::Lt(1.4))));
    EXPECT_GT(all->baselines(Phase::train).at(1).loss, 0.5);
}

TEST(SampleTasks, RefuseSettingsThatMakeNoTask) {
    EXPECT_THAT(refusal(R"({"type": "parity", "bits": 1})"), HasSubstr("task.bits is 1"));
    EXPECT_THAT(refusal(R"({"type": "multiplexer", "address_bits": 4})"),
                HasSubstr("task.address_bits is 4"));
    EXPECT_THAT(refusal(R"({"type": "multiplexer", "bits": 2})"),
                HasSubstr("task.bits is not a key"));
    EXPECT_THAT(refusal(R"({"type": "retina", "goal": "xor"})"), HasSubstr("and, or, both"));
    EXPECT_THAT(refusal(R"({"type": "spirals", "turns": 3})"), HasSubstr("task.turns"));
    EXPECT_THAT(refusal(R"({"type": "delayed_copy", "length": 0})"), HasSubstr("task.length"));
    EXPECT_THAT(refusal(R"({"type": "delayed_copy", "length": 10000, "width": 64})"),
                HasSubstr("at most"));
    EXPECT_THAT(refusal(R"({"type": "mackey_glass", "lags": []})"),
                HasSubstr("task.lags is empty"));
    EXPECT_THAT(refusal(R"({"type": "mackey_glass", "discard": 17})"),
                HasSubstr("task.lags holds 18"));
    EXPECT_THAT(refusal(R"({"type": "mackey_glass", "steps_per_unit": 1000, "discard": 100000})"),
                HasSubstr("at most"));
    EXPECT_THAT(refusal(R"({"type": "narma10", "washout": 0, "train_steps": 5})"),
                HasSubstr("task.train_steps is 5 (all their targets are equal"));
    EXPECT_THAT(refusal(R"({"type": "narma10", "train_steps": 1})"),
                HasSubstr("task.train_steps is 1"));
}

}  // namespace
}  // namespace cambrian::evolve
