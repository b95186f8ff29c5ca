#include "cambrian/evolve/evaluation/answers.hpp"

#include <fmt/format.h>

#include <cmath>

#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/evolve/analysis/metrics.hpp"
#include "cambrian/tests/evolve/support/task_support.hpp"

namespace cambrian::evolve {
namespace {

constexpr std::string_view flat =
    R"({"layers": [{"type": "dense", "out": 5, "activation": "tanh"}, {"type": "dense"}]})";
constexpr std::string_view recurrent =
    R"({"layers": [{"type": "lstm", "hidden": 4}, {"type": "dense"}]})";

class AnswersOfTasks : public ::testing::Test {
  protected:
    AnswersOfTasks() : backend_(make_cpu_backend({})) {
        std::string text = "a,b,y,k\n";
        for (int i = 0; i < 33; ++i)
            text += fmt::format("{},{},{},{}\n", std::sin(1.3 * i), std::cos(0.7 * i),
                                10.0 + 3.0 * std::sin(0.4 * i), 2 + i % 4);
        folder_.write("rows.csv", text);
    }
    /// What a metric of all rows of a phase says of three networks is what the task says.
    void expect_loss(const std::string& settings, std::string_view network,
                     std::string_view metric_name, Phase phase = Phase::train) const {
        const auto task = testing::standard_task(settings, folder_.path());
        const auto rows = labelled_rows(*task, phase);
        ASSERT_NE(rows, nullptr) << settings;
        const Truth truth = truth_of(*rows);
        std::vector<Genome> genomes;
        for (std::uint64_t id = 0; id < 3; ++id)
            genomes.push_back(testing::genome_for(*task, network, id));
        const std::array<const Genome*, 3> pointers{&genomes[0], &genomes[1], &genomes[2]};
        for (const Family family : {Family::graph, Family::interpreted}) {
            const std::vector<Answers> answers = answers_of(*backend_, family, *rows, pointers);
            ASSERT_EQ(answers.size(), 3U);
            for (std::size_t i = 0; i < 3; ++i) {
                const double loss =
                    -testing::evaluate_one(*backend_, *task, genomes[i], {.phase = phase}).fitness;
                const double found = metric(metric_name).of(truth, answers[i]).value();
                EXPECT_NEAR(found, loss, 1e-5 * (1.0 + std::abs(loss))) << settings << i;
            }
        }
    }

    testing::TemporaryFolder folder_;
    std::unique_ptr<Backend> backend_;
};

TEST_F(AnswersOfTasks, MetricsAreTheLossesOfTables) {
    const auto table = [](const std::string& more) {
        return R"({"type": "table", "train": ["rows.csv"], "inputs": ["a", "b"], )" + more +
               R"(, "validation": {"tail_fraction": 0.3}})";
    };
    for (const Phase phase : {Phase::train, Phase::validation}) {
        expect_loss(table(R"("targets": ["y"])"), flat, "mse", phase);
        expect_loss(table(R"("targets": ["y", "k"], "loss": "mae")"), flat, "mae", phase);
        expect_loss(table(R"("targets": ["k"], "mode": "classification")"), flat, "log_loss",
                    phase);
        // The last window reaches back over rows that count but once; its first two steps warm up.
        const std::string windows = R"(, "sequence_length": 5, "warm_up": 2)";
        expect_loss(table(R"("targets": ["y"], "time_offset": 1, "difference": true)" + windows),
                    recurrent, "mse", phase);
        expect_loss(table(R"("targets": ["k"], "mode": "classification")" + windows), recurrent,
                    "log_loss", phase);
    }
}

TEST_F(AnswersOfTasks, MetricsAreTheLossesOfDataSets) {
    const auto dataset = [](const std::string& source, const std::string& loss) {
        return R"({"type": "dataset", "source": )" + source + R"(, "loss": {"type": )" + loss +
               "}}";
    };
    const std::string csv = R"({"type": "csv", "files": ["rows.csv"], "targets": [")";
    expect_loss(dataset(csv + R"(y"]})", R"("mse")"), flat, "mse");
    expect_loss(dataset(csv + R"(k"], "classes": true})", R"("cross_entropy")"), flat, "log_loss");
    // A class that does not count.
    expect_loss(dataset(csv + R"(k"], "classes": true})", R"("cross_entropy", "ignore_index": 3)"),
                flat, "log_loss");
    expect_loss(dataset(R"({"type": "delay"})", R"("mse")"), recurrent, "mse");
    expect_loss(dataset(R"({"type": "spirals"})", R"("bce_with_logits")"), flat, "log_loss");
}

TEST_F(AnswersOfTasks, RowsThatAreDrawnAreAllThere) {
    const auto task = testing::standard_task(
        R"({"type": "table", "train": ["rows.csv"], "targets": ["y"], "rows_per_evaluation": 7})",
        folder_.path());
    EXPECT_EQ(truth_of(*labelled_rows(*task, Phase::train)).rows(), 33U);
    EXPECT_EQ(labelled_rows(*task, Phase::test), nullptr);
    EXPECT_EQ(labelled_rows(*testing::standard_task(R"({"type": "cart_pole"})"), Phase::train),
              nullptr);
}

TEST_F(AnswersOfTasks, OneScoreStandsForTwoClasses) {
    const std::vector<float> scores{0.0F, 40.0F, -1.0F};
    const Answers answers = class_answers(scores, 1, 2);
    EXPECT_THAT(answers.chosen, ::testing::ElementsAre(0, 1, 0));
    EXPECT_NEAR(answers.values[2], std::exp(-40.0), 1e-24);
    EXPECT_NEAR(answers.values[5], 1.0 / (1.0 + std::exp(1.0)), 1e-15);
    // Of equal scores the first class is answered.
    const std::vector<float> equal{1.0F, 1.0F, 0.0F};
    EXPECT_EQ(class_answers(equal, 3, 3).chosen[0], 0U);
}

TEST_F(AnswersOfTasks, OneClassIsAlwaysAnswered) {
    const std::vector<float> scores{0.0F, 40.0F, -1.0F};
    const Answers answers = class_answers(scores, 1, 1);
    EXPECT_THAT(answers.chosen, ::testing::ElementsAre(0, 0, 0));
    EXPECT_THAT(answers.values, ::testing::ElementsAre(1.0, 1.0, 1.0));
    const Truth truth{.classes = true, .width = 1, .targets = {0.0, 0.0, 0.0}, .labels = {7.0}};
    EXPECT_EQ(metric("accuracy").of(truth, answers), 1.0);
    EXPECT_EQ(metric("log_loss").of(truth, answers), 0.0);
    EXPECT_EQ(confusion_matrix(truth, answers), std::vector<std::uint64_t>{3});
}

}  // namespace
}  // namespace cambrian::evolve
