#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/evolve/genome/preparation.hpp"
#include "cambrian/evolve/plugins/guarded.hpp"
#include "cambrian/tests/evolve/support/task_support.hpp"

namespace cambrian::evolve {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Dataset : public ::testing::Test {
  protected:
    /// A task on labels.csv with these labels beside inputs p and q.
    [[nodiscard]] std::unique_ptr<Task> with_labels(const std::string& labels,
                                                    const std::string& loss) const {
        std::string text = "p,label,q\n";
        std::size_t row = 0;
        for (std::size_t begin = 0; begin < labels.size(); ++row) {
            const std::size_t end = std::min(labels.find(' ', begin), labels.size());
            text += fmt::format("{},{},{}\n", row, labels.substr(begin, end - begin), 2 * row);
            begin = end + 1;
        }
        folder_.write("labels.csv", text);
        return testing::standard_task(
            R"({"type": "dataset", "source": {"type": "csv", "files": ["labels.csv"],
                "targets": ["label"], "classes": true, "scale": 0.25},
                "split": {"shuffle": false}, "loss": )" +
                loss + "}",
            folder_.path());
    }
    [[nodiscard]] static std::vector<std::string> names(const Preparation& preparation) {
        std::vector<std::string> result;
        for (const PreparedOutput& output : preparation.outputs) result.push_back(output.name);
        return result;
    }

    testing::TemporaryFolder folder_;
    std::string cross_entropy_ = R"({"type": "cross_entropy"})";
};

TEST_F(Dataset, KeepsWhatItDoesToItsRows) {
    const auto task = with_labels("0 1 2 1", cross_entropy_);
    const Preparation preparation = task->preparation().value();
    EXPECT_EQ(preparation.inputs,
              (std::vector<PreparedInput>{{.column = "p", .scaling = {}, .factor = 0.25},
                                          {.column = "q", .scaling = {}, .factor = 0.25}}));
    EXPECT_THAT(names(preparation), ElementsAre("label=0", "label=1", "label=2"));
    EXPECT_THAT(preparation.classes, ElementsAre(0, 1, 2));
    EXPECT_EQ(preparation.sequence_rows, 0);
    EXPECT_THAT(task->notes(), IsEmpty());
}

TEST_F(Dataset, ShowsRowsForStepsWhereItIsAskedTo) {
    const std::string source = R"({"type": "dataset", "source": {"type": "blobs", "rows": 9},
        "loss": {"type": "cross_entropy"}, "split": {"validation": 3})";
    const auto plain = testing::standard_task(source + "}");
    const auto shown = testing::standard_task(source + R"(, "steps": 3})");
    EXPECT_FALSE(plain->signature().time);
    EXPECT_TRUE(shown->signature().time);
    EXPECT_EQ(shown->preparation()->sequence_rows, 3);
    EXPECT_TRUE(shown->preparation()->shown);
    EXPECT_FALSE(plain->preparation()->shown);
    for (const Phase phase : {Phase::train, Phase::validation}) {
        const std::vector<Tensor> rows = plain->data(phase);
        const std::vector<Tensor> steps = shown->data(phase);
        EXPECT_EQ(steps[1], rows[1]) << "an answer for each row";
        ASSERT_EQ(steps[0].shape, (Shape{rows[0].shape[0], 3, rows[0].shape[1]}));
        const auto width = static_cast<std::size_t>(rows[0].shape[1]);
        for (std::size_t i = 0; i < steps[0].elements.size(); ++i)
            EXPECT_EQ(steps[0].elements[i], rows[0].elements[i / (3 * width) * width + i % width]);
    }
}

TEST_F(Dataset, SourcesWithoutNamesGoByPosition) {
    const auto delay =
        testing::standard_task(R"({"type": "dataset", "source": {"type": "delay", "steps": 5}})");
    EXPECT_FALSE(delay->preparation()->named());
    EXPECT_EQ(delay->preparation()->sequence_rows, 5);
    EXPECT_FALSE(delay->preparation()->shown);
    EXPECT_THAT(delay->preparation()->classes, IsEmpty());
    const auto blobs = testing::standard_task(
        R"({"type": "dataset", "source": {"type": "blobs"}, "loss": {"type": "cross_entropy"}})");
    EXPECT_EQ(blobs->preparation()->inputs.size(), 2U);
    EXPECT_EQ(blobs->preparation()->output_name(1), "output_1");
    EXPECT_THAT(blobs->preparation()->classes, ElementsAre(0, 1, 2));
}

TEST_F(Dataset, LabelsAreCountedThroughWhateverTheyAre) {
    for (const auto& [labels, low, middle, high] :
         {std::tuple{"1 2 3 1", 1, 2, 3}, {"10 20 30 10", 10, 20, 30}, {"-7 0 5 -7", -7, 0, 5}}) {
        const auto task = with_labels(labels, cross_entropy_);
        EXPECT_EQ(task->signature().outputs, 3) << labels;
        EXPECT_THAT(task->data(Phase::train)[1].elements, ElementsAre(0, 1, 2, 0)) << labels;
        EXPECT_THAT(task->preparation()->classes, ElementsAre(low, middle, high));
        EXPECT_THAT(task->notes(), ElementsAre(fmt::format("classes {}, {}, {} are outputs 0 to 2",
                                                           low, middle, high)));
    }
    const std::string one =
        testing::message_of<InputError>([&] { (void)with_labels("5 5 5", cross_entropy_); });
    EXPECT_THAT(one, HasSubstr("holds 1 classes (2 to 1000000 can be told apart)"));
}

/// The network answers one logit a class, all equal, but for what `ignored` leaves out.
TEST_F(Dataset, WhatTheLossIgnoresIsNoClassHoweverLabelsAreCounted) {
    const auto backend = make_cpu_backend({});
    // 1 is the index of 20, and must not be taken for what is ignored.
    for (const auto& [labels, ignored] :
         {std::pair{"10 20 1 30", 1}, {"10 20 -100 30", -100}, {"0 2 1 5", 1}}) {
        const auto task = with_labels(
            labels, fmt::format(R"({{"type": "cross_entropy", "ignore_index": {}}})", ignored));
        EXPECT_EQ(task->signature().outputs, 3) << labels;
        EXPECT_THAT(task->data(Phase::train)[1].elements, ElementsAre(0, 1, -100, 2)) << labels;
        EXPECT_THAT(task->notes(),
                    ::testing::Contains(HasSubstr("1 of 4 targets in column label")));
        // Logits 0, p, 0 of p = 0, 1/4, 3/4: rows 0, 1 and 3 count.
        Genome genome = testing::genome_for(*task, R"({"layers": [{"type": "dense"}]})");
        genome.weights = {0, 0, 1, 0, 0, 0, 0, 0, 0};
        const auto lost = [](double p, bool middle) {
            return std::log(2.0 + std::exp(p)) - (middle ? p : 0.0);
        };
        const double expected = (lost(0, false) + lost(0.25, true) + lost(0.75, false)) / 3.0;
        EXPECT_NEAR(-testing::evaluate_one(*backend, *task, genome, {}).fitness, expected, 1e-6)
            << labels;
    }
}

TEST_F(Dataset, TwoClassesAreOneScoreOrOneNumber) {
    const auto score = with_labels("1 2 2 1", R"({"type": "bce_with_logits"})");
    EXPECT_EQ(score->signature().outputs, 1);
    EXPECT_THAT(names(*score->preparation()), ElementsAre("label=2"));
    EXPECT_THAT(score->preparation()->classes, ElementsAre(1, 2));
    EXPECT_THAT(score->notes(), ElementsAre("classes 1, 2 are targets 0 and 1"));
    EXPECT_THAT(score->data(Phase::train)[1].elements, ElementsAre(0, 1, 1, 0));

    const auto number = with_labels("1 5 5 1", R"({"type": "mse"})");
    EXPECT_THAT(names(*number->preparation()), ElementsAre("label"));
    EXPECT_THAT(number->preparation()->classes, IsEmpty());
    EXPECT_EQ(number->preparation()->outputs[0].answer(1.0), 5.0);
    EXPECT_EQ(number->preparation()->outputs[0].answer(0.0), 1.0);
}

TEST_F(Dataset, FitnessMayBeTheShareOfRightAnswers) {
    const auto settings = [](const std::string& loss) {
        return R"({"type": "dataset", "source": {"type": "xor"}, "fitness": "accuracy",
                   "split": {"shuffle": false}, "loss": {"type": ")" +
               loss + "\"}}";
    };
    const auto task = testing::standard_task(settings("bce_with_logits"));
    EXPECT_FALSE(task->signature().loss || task->signature().stochastic);
    // a + b - 1/2 is above zero for all rows but the first: only the last one is wrong.
    Genome genome = testing::genome_for(*task, R"({"layers": [{"type": "dense"}]})");
    genome.weights = {1, 1, -0.5F};
    const auto backend = make_cpu_backend({});
    EXPECT_EQ(testing::evaluate_one(*backend, *task, genome).fitness, 0.75);
    // What is no number is on no side, which may be right: infinity less infinity, of all rows.
    genome = testing::genome_for(
        *task,
        R"({"layers": [{"type": "dense", "out": 2, "activation": "square"}, {"type": "dense"}]})");
    genome.weights = {0, 0, 0, 0, 1e30F, 1e30F, 1, -1, 0};
    EXPECT_EQ(testing::evaluate_one(*backend, *task, genome).status, Status::non_finite);
    EXPECT_THAT(
        testing::message_of<ConfigError>([&] { (void)testing::standard_task(settings("mse")); }),
        HasSubstr("task.fitness is \"accuracy\""));
}

TEST_F(Dataset, TheLossOfManyEqualRowsIsThatOfEach) {
    const auto task = testing::standard_task(
        R"({"type": "dataset", "source": {"type": "blobs", "rows": 200000, "classes": 2},
            "loss": {"type": "cross_entropy"}})");
    Genome genome = testing::genome_for(*task, R"({"layers": [{"type": "dense"}]})");
    std::ranges::fill(genome.weights, 0.0F);
    const double fitness = testing::evaluate_one(*make_cpu_backend({}), *task, genome).fitness;
    EXPECT_NEAR(-fitness / std::log(2.0), 1.0, 1e-6);
}

TEST_F(Dataset, MiniBatchesAreThoseOfTheirRows) {
    constexpr std::string_view source =
        R"({"type": "dataset", "source": {"type": "blobs", "rows": 40}, "split": {"validation": 10},
            "loss": {"type": "cross_entropy"}, "rows_per_evaluation": 6})";
    const auto task = testing::standard_task(source);
    EXPECT_TRUE(task->signature().stochastic);
    EXPECT_THAT(task->draws(Phase::validation, 1, 0), IsEmpty());
    const Tensor rows = task->draws(Phase::train, 1, 0).at(0);
    EXPECT_EQ(rows.shape, (Shape{6}));
    EXPECT_NE(rows, task->draws(Phase::train, 1, 1).at(0));
    EXPECT_NE(rows, task->draws(Phase::train, 2, 0).at(0));

    const auto backend = make_reference_backend(Precision::f64);
    const Genome genome = testing::genome_for(*task, R"({"layers": [{"type": "dense"}]})");
    const std::vector<Tensor> data = task->data(Phase::train);
    double lost = 0.0;
    for (const double row : rows.elements) {
        const auto at = static_cast<std::size_t>(row);
        std::array<double, 3> logits{};
        double sum = 0.0;
        for (std::size_t i = 0; i < 3; ++i) {
            logits[i] =
                data[0].elements[2 * at] * static_cast<double>(genome.weights[2 * i]) +
                data[0].elements[2 * at + 1] * static_cast<double>(genome.weights[2 * i + 1]) +
                static_cast<double>(genome.weights[6 + i]);
            sum += std::exp(logits[i]);
        }
        lost += std::log(sum) - logits[static_cast<std::size_t>(data[1].elements[at])];
    }
    EXPECT_NEAR(testing::evaluate_one(*backend, *task, genome, {}).fitness, -lost / 6.0, 1e-6);
    const auto whole = task->whole();
    ASSERT_TRUE(whole);
    EXPECT_FALSE(whole->signature().stochastic);
    EXPECT_THAT(whole->draws(Phase::train, 1, 0), IsEmpty());
    EXPECT_EQ(whole->data(Phase::train), data);
    EXPECT_EQ(whole->learning(), task->learning());  // No copy of the rows.
    EXPECT_EQ(whole->whole(), nullptr);
    // As many as there are is all of them, each once.
    EXPECT_FALSE(testing::standard_task(
                     R"({"type": "dataset", "source": {"type": "xor"}, "rows_per_evaluation": 4})")
                     ->signature()
                     .stochastic);
}

TEST_F(Dataset, TargetsWhoseLossIsNoFloatAreRefused) {
    const auto error = [&](const char* rows, const char* loss) {
        folder_.write("scale.csv", rows);
        return testing::message_of<ConfigError>([&] {
            (void)testing::standard_task(
                fmt::format(R"({{"type": "dataset", "loss": {{"type": "{}"}}, "source":
                    {{"type": "csv", "files": ["scale.csv"], "targets": ["y"]}}}})",
                            loss),
                folder_.path());
        });
    };
    const char* const tiny = "a,y\n1,1e-25\n2,3e-25\n";
    for (const char* loss : {"mse", "huber"})
        EXPECT_THAT(error(tiny, loss), HasSubstr("less than float32 can compare"));
    EXPECT_EQ(error(tiny, "mae"), "no error");
    const char* const huge = "a,y\n1,1e25\n2,3e25\n";
    EXPECT_THAT(error(huge, "mse"), HasSubstr("more than float32 holds"));
    EXPECT_EQ(error(huge, "huber"), "no error");
}

TEST_F(Dataset, OfAPluginIsWholeToo) {
    const TaskKind kind = guarded_task(
        {"drawn", "",
         [](const nlohmann::json&, const TaskContext&) {
             return testing::standard_task(
                 R"({"type": "dataset", "source": {"type": "xor"}, "rows_per_evaluation": 2})");
         },
         nullptr},
        "some");
    const auto task = kind.make({}, {});
    ASSERT_TRUE(task->whole());
    EXPECT_THAT(task->whole()->draws(Phase::train, 1, 0), IsEmpty());
    EXPECT_EQ(task->whole()->whole(), nullptr);
}

}  // namespace
}  // namespace cambrian::evolve
