#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/evolve/tasks/table/table.hpp"
#include "cambrian/tests/evolve/support/task_support.hpp"

namespace cambrian::evolve::table_task_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view linear = R"({"layers": [{"type": "dense"}]})";
constexpr std::string_view recurrent =
    R"({"layers": [{"type": "rnn", "hidden": 2}, {"type": "dense"}]})";

class Table : public ::testing::Test {
  protected:
    Table() : backend_(make_cpu_backend({})) {
        folder_.write("six.csv", "a,b,y\n1,0,1\n2,1,3\n3,0,2\n4,1,6\n5,0,4\n7,1,5\n");
    }

    /// Columns as they are, unless the keys say otherwise.
    std::unique_ptr<Task> make(const std::string& keys) const {
        const char* scaling =
            keys.find("normalise") == std::string::npos ? R"("normalise": "none", )" : "";
        return testing::standard_task(
            fmt::format(R"({{"type": "table", "train": ["six.csv"], {}{}}})", scaling, keys),
            folder_.path());
    }
    double loss(const Task& task, const Genome& genome, Phase phase = Phase::train) const {
        return -testing::evaluate_one(*backend_, task, genome, {.phase = phase}).fitness;
    }
    template <class Expected>
    std::string error(const std::string& settings) const {
        return testing::message_of<Expected>(
            [&] { (void)testing::standard_task(settings, folder_.path()); });
    }

    testing::TemporaryFolder folder_;
    std::unique_ptr<Backend> backend_;
};

TEST_F(Table, LossIsInTheUnitsOfTheFile) {
    // Prediction 2a + b − 1: 1, 4, 5, 8, 9, 14; errors 0, -1, -3, -2, -5, -9.
    for (const auto& [name, expected] : {std::pair{"mse", 120.0 / 6}, {"mae", 20.0 / 6}}) {
        const auto task = make(fmt::format(R"("targets": ["y"], "loss": "{}")", name));
        EXPECT_EQ(task->signature().observations, 2);
        Genome genome = testing::genome_for(*task, linear);
        genome.weights = {2, 1, -1};
        EXPECT_NEAR(loss(*task, genome), expected, 1e-5) << name;
    }
}

TEST_F(Table, NormalisedNetworksKeepTheUnitsOfTheLoss) {
    const auto min_max = make(R"("targets": ["y"], "inputs": ["a"], "normalise": "min_max")");
    Genome genome = testing::genome_for(*min_max, linear);
    // y = 1 + 5·out and in = (a − 1) / 6, so this network says y = 1 + 5·(a − 1) / 6.
    genome.weights = {1, 0};
    double expected = 0.0;
    for (const auto& [a, y] : {std::pair{1., 1.}, {2., 3.}, {3., 2.}, {4., 6.}, {5., 4.}, {7., 5.}})
        expected += std::pow(1.0 + 5.0 * (a - 1.0) / 6.0 - y, 2) / 6.0;
    EXPECT_NEAR(loss(*min_max, genome), expected, 1e-5);

    const auto standard = make(R"("targets": ["y"], "normalise": "mean_deviation")");
    genome = testing::genome_for(*standard, linear);
    genome.weights = {0, 0, 0};
    // Says the mean, 3.5: the loss is the variance.
    EXPECT_NEAR(loss(*standard, genome), 17.5 / 6, 1e-5);
}

TEST_F(Table, KeepsWhatItDoesToItsRows) {
    const auto task =
        make(R"("targets": ["y"], "inputs": ["b", "a"], "normalise": "min_max", "time_offset": 1)");
    // Rows 1 to 5 are inputs, answers are rows 2 to 6.
    const Preparation preparation = task->preparation().value();
    EXPECT_EQ(preparation.inputs,
              (std::vector<PreparedInput>{{.column = "b", .scaling = {0.0, 1.0}},
                                          {.column = "a", .scaling = {1.0, 4.0}}}));
    EXPECT_EQ(preparation.outputs,
              (std::vector<PreparedOutput>{{.name = "y", .scaling = {2.0, 4.0}, .current = ""}}));
    EXPECT_THAT(preparation.classes, ::testing::IsEmpty());
    const auto change = make(R"("targets": ["y"], "time_offset": 1, "difference": true)");
    EXPECT_EQ(change->preparation()->outputs[0].current, "y");
    EXPECT_EQ(change->preparation()->outputs[0].scaling.shift, 0.0);
}

TEST_F(Table, LossOfManyRowsKeepsItsDigits) {
    std::string text = "a,y\n";
    for (int row = 0; row < 100'000; ++row) text += row % 3 == 0 ? "0,0.1\n" : "0,0.3\n";
    folder_.write("many.csv", text);
    const auto task = testing::standard_task(
        R"({"type": "table", "train": ["many.csv"], "targets": ["y"], "loss": "mae",
            "normalise": "none"})",
        folder_.path());
    Genome genome = testing::genome_for(*task, linear);
    genome.weights = {0, 0};
    const double expected = (33'334 * 0.1 + 66'666 * 0.3) / 100'000;
    // One sum in f32 from the first row to the last is wrong in the third digit.
    EXPECT_NEAR(loss(*task, genome), expected, 2e-6 * expected);
}

TEST_F(Table, TimeOffsetPredictsALaterRow) {
    const auto task = make(R"("targets": ["y"], "time_offset": 2)");
    EXPECT_EQ(task->signature().observations, 3);
    Genome genome = testing::genome_for(*task, linear);
    genome.weights = {0, 0, 1, 0};  // y of this row for the one two rows later
    EXPECT_NEAR(loss(*task, genome), (1 + 9 + 4 + 1) / 4.0, 1e-5);
}

TEST_F(Table, ZeroOutputWithDifferenceIsPersistence) {
    const auto task =
        make(R"("targets": ["y"], "time_offset": 1, "difference": true, "normalise": "min_max",
                "baselines": ["persistence", "least_squares"])");
    Genome genome = testing::genome_for(*task, linear);
    std::fill(genome.weights.begin(), genome.weights.end(), 0.0F);
    const auto baselines = task->baselines(Phase::train);
    EXPECT_EQ(baselines[0].name, "persistence");
    EXPECT_EQ(baselines[0].loss, (4 + 1 + 16 + 4 + 1) / 5.0);
    EXPECT_FLOAT_EQ(static_cast<float>(loss(*task, genome)), static_cast<float>(baselines[0].loss));

    // One output unit is one standard deviation of the changes 2, -1, 4, -2, 1.
    genome.weights.back() = 1.0F;
    const double deviation = std::sqrt(26.0 / 5 - 0.8 * 0.8);
    double expected = 0.0;
    for (const double change : {2., -1., 4., -2., 1.}) expected += std::pow(change - deviation, 2);
    EXPECT_NEAR(loss(*task, genome), expected / 5, 1e-5);
}

TEST_F(Table, LeastSquaresFindsTheBestLine) {
    folder_.write("line.csv", "u,v,w,y\n0,1,5,3\n1,0,5,4\n2,2,5,10\n3,1,5,11\n4,7,5,19\n");
    const auto task = testing::standard_task(
        R"({"type": "table", "train": ["line.csv"], "test": ["line.csv"], "targets": ["y"], "normalise": "none",
            "baselines": ["least_squares"]})",
        folder_.path());
    // Exact by fractions; the constant column w changes nothing.
    const auto baseline = task->baselines(Phase::test)[0];
    EXPECT_EQ(baseline.name, "least_squares");
    EXPECT_NEAR(baseline.loss, 784.0 / 3475.0, 1e-12);
}

TEST_F(Table, TailOfEachTrainFileValidates) {
    const auto task = make(R"("targets": ["y"], "validation": {"tail_fraction": 0.34})");
    EXPECT_TRUE(task->signature().validates);
    EXPECT_FALSE(task->signature().tests);
    Genome genome = testing::genome_for(*task, linear);
    std::fill(genome.weights.begin(), genome.weights.end(), 0.0F);
    EXPECT_NEAR(loss(*task, genome), (1 + 9 + 4 + 36) / 4.0, 1e-5);
    EXPECT_NEAR(loss(*task, genome, Phase::validation), (16 + 25) / 2.0, 1e-5);
}

TEST_F(Table, OtherFilesValidateAndTest) {
    folder_.write("two.csv", "y,b,a\n10,0,1\n20,1,1\n");
    const auto task = make(
        R"("targets": ["y"], "validation": {"files": ["two.csv"], "every": 3}, "test": ["two.csv"])");
    EXPECT_TRUE(task->signature().tests);
    Genome genome = testing::genome_for(*task, linear);
    genome.weights = {0, 10, 10};
    EXPECT_EQ(loss(*task, genome, Phase::validation), 0.0);
    EXPECT_EQ(loss(*task, genome, Phase::test), 0.0);
}

TEST_F(Table, EveryRowCountsOnceInWindowsOfAnyLength) {
    const auto rows = make(R"("targets": ["y"])");
    Genome genome = testing::genome_for(*rows, linear);
    genome.weights = {2, 1, -1};
    const double expected = loss(*rows, genome);
    for (const int length : {1, 2, 3, 4, 5, 6})
        for (int warm_up = 0; warm_up < length; ++warm_up) {
            const auto task = make(fmt::format(
                R"("targets": ["y"], "sequence_length": {}, "warm_up": {})", length, warm_up));
            EXPECT_TRUE(task->signature().time);
            EXPECT_NEAR(loss(*task, genome), expected, 1e-4) << length << " " << warm_up;
        }
}

TEST(TableWindows, OverlapByTheWarmUp) {
    const std::vector<Series> series{{"a", 7, {}, {}, {}, {}}, {"b", 4, {}, {}, {}, {}}};
    const Windows windows = cover(series, 4, 2);
    EXPECT_EQ(windows.count, 4);
    // The first of a file counts from its first row; the last one is moved back to be full.
    EXPECT_THAT(windows.rows, ElementsAre(0, 1, 2, 3, 2, 3, 4, 5, 3, 4, 5, 6, 7, 8, 9, 10));
    EXPECT_EQ(windows.counted,
              (std::vector<bool>{true, true, true, true, false, false, true, true, false, false,
                                 false, true, true, true, true, true}));
}

TEST_F(Table, ShortTestFilesArePadded) {
    folder_.write("two.csv", "a,b,y\n0,0,2\n0,0,4\n");
    const auto task = make(R"("targets": ["y"], "sequence_length": 5, "test": ["two.csv"])");
    Genome genome = testing::genome_for(*task, recurrent);
    std::fill(genome.weights.begin(), genome.weights.end(), 0.0F);
    EXPECT_NEAR(loss(*task, genome, Phase::test), (4 + 16) / 2.0, 1e-5);
}

TEST_F(Table, StateLastsThroughAWindowOnly) {
    const auto task = make(R"("targets": ["y"], "inputs": ["b"], "sequence_length": 3)");
    Genome genome = testing::genome_for(
        *task, R"({"layers": [{"type": "rnn", "hidden": 1}, {"type": "dense"}]})");
    genome.weights = {1, 1, 0, 1, 0};  // h' = tanh(b + h), output h
    double expected = 0.0;
    const std::vector<std::pair<double, double>> rows{{0, 1}, {1, 3}, {0, 2},
                                                      {1, 6}, {0, 4}, {1, 5}};
    double state = 0.0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (i == 3) state = 0.0;
        state = std::tanh(rows[i].first + state);
        expected += std::pow(state - rows[i].second, 2) / 6.0;
    }
    EXPECT_NEAR(loss(*task, genome), expected, 1e-4);
}

TEST_F(Table, RowsAreDrawnAnewForEachGenerationOnly) {
    std::string text = "a,y\n";
    for (int row = 0; row < 50; ++row) text += fmt::format("{},{}\n", row, row * row);
    folder_.write("many.csv", text);
    const auto task = testing::standard_task(
        R"({"type": "table", "train": ["many.csv", "many.csv2"], "targets": ["y"], "normalise": "none",
            "sequence_length": 4, "rows_per_evaluation": 14})",
        (folder_.write("many.csv2", text), folder_.path()));
    EXPECT_TRUE(task->signature().stochastic);
    const auto draws = task->draws(Phase::train, 1, 0);
    ASSERT_EQ(draws[0].shape, (Shape{3, 4}));
    for (std::size_t window = 0; window < 3; ++window) {
        const double first = draws[0].elements[window * 4];
        EXPECT_LE(std::fmod(first, 50.0), 46.0) << "a window lies inside one file";
        for (std::size_t step = 0; step < 4; ++step)
            EXPECT_EQ(draws[0].elements[window * 4 + step], first + static_cast<double>(step));
    }
    EXPECT_EQ(draws, task->draws(Phase::train, 1, 0));
    EXPECT_NE(draws, task->draws(Phase::train, 1, 1));

    Genome genome = testing::genome_for(*task, linear);
    genome.weights = {0, 0};
    double expected = 0.0;
    for (const double row : draws[0].elements) expected += std::pow(std::fmod(row, 50.0), 4) / 12.0;
    EXPECT_NEAR(loss(*task, genome) / expected, 1.0, 1e-5);
}

TEST_F(Table, AWholeTaskHasEveryRowOnce) {
    folder_.write("ten.csv", "a,y\n0,0\n1,1\n2,2\n3,3\n4,4\n5,5\n6,6\n7,7\n8,8\n9,9\n");
    const auto task_of = [&](const char* more) {
        return testing::standard_task(
            fmt::format(R"({{"type": "table", "train": ["ten.csv"], "targets": ["y"],
                "normalise": "none"{}}})",
                        more),
            folder_.path());
    };
    const auto task = task_of(R"(, "rows_per_evaluation": 3)");
    const auto whole = task->whole();
    ASSERT_TRUE(whole);
    EXPECT_FALSE(whole->signature().stochastic);
    EXPECT_TRUE(whole->draws(Phase::train, 1, 0).empty());
    EXPECT_EQ(whole->notes(), task->notes());
    Genome genome = testing::genome_for(*whole, linear);
    genome.weights = {0, 0};
    EXPECT_NEAR(loss(*whole, genome), 28.5, 1e-4);  // Mean of the squares of 0 to 9.
    // Sequences as those of a task that draws none.
    EXPECT_EQ(
        task_of(R"(, "sequence_length": 4, "rows_per_evaluation": 8)")->whole()->data(Phase::train),
        task_of(R"(, "sequence_length": 4)")->data(Phase::train));
    EXPECT_EQ(whole->whole(), nullptr);
    EXPECT_EQ(task_of("")->whole(), nullptr);
}

TEST_F(Table, ClassesAreFoundInTheTrainData) {
    folder_.write("classes.csv", "a,kind\n1,7\n2,7\n3,7\n4,-1\n5,3\n");
    const auto task = testing::standard_task(
        R"({"type": "table", "mode": "classification", "train": ["classes.csv"],
            "targets": ["kind"], "baselines": ["majority", "frequencies"]})",
        folder_.path());
    EXPECT_EQ(task->signature().outputs, 3);
    const Preparation preparation = task->preparation().value();
    EXPECT_EQ(preparation.outputs[0].name, "kind=-1");
    EXPECT_EQ(preparation.outputs[2].name, "kind=7");
    EXPECT_THAT(preparation.classes, ElementsAre(-1, 3, 7));
    EXPECT_THAT(task->notes(), ElementsAre("classes -1, 3, 7 are outputs 0 to 2"));
    Genome genome = testing::genome_for(*task, linear);
    genome.weights = {0, 0, 0, 0, 0, 0};
    EXPECT_NEAR(loss(*task, genome), std::log(3.0), 1e-5);
    // The class frequencies .2, .2, .6 as the network's constant answer.
    genome.weights = {0, 0, 0, std::log(0.2F), std::log(0.2F), std::log(0.6F)};
    const auto baselines = task->baselines(Phase::train);
    EXPECT_EQ(baselines[0].loss, 0.6);
    EXPECT_NEAR(loss(*task, genome), baselines[1].loss, 1e-5);
    EXPECT_NEAR(baselines[1].loss, -0.4 * std::log(0.2) - 0.6 * std::log(0.6), 1e-12);
}

TEST_F(Table, BadSettingsNameTheKey) {
    const auto bad = [&](const std::string& keys) {
        return error<ConfigError>(
            fmt::format(R"({{"type": "table", "train": ["six.csv"], {}}})", keys));
    };
    EXPECT_THAT(bad(R"("target": ["y"])"),
                AllOf(HasSubstr("task.target is not a key"), HasSubstr("\"targets\"")));
    EXPECT_THAT(bad(R"("inputs": "all")"), HasSubstr("task.targets is empty"));
    EXPECT_THAT(bad(R"("targets": ["y"], "loss": "cross_entropy")"), HasSubstr("mse, mae"));
    EXPECT_THAT(bad(R"("targets": ["y"], "mode": "clasification")"),
                HasSubstr("did you mean \"classification\"?"));
    EXPECT_THAT(bad(R"("targets": ["y"], "difference": true)"), HasSubstr("\"time_offset\""));
    EXPECT_THAT(bad(R"("targets": ["y"], "baselines": ["persistence"])"),
                HasSubstr("task.baselines"));
    EXPECT_THAT(bad(R"("targets": ["y"], "inputs": ["a", "y"])"), HasSubstr("own answer"));
    EXPECT_THAT(bad(R"("targets": ["y"], "inputs": ["a", "a"])"), HasSubstr("twice"));
    EXPECT_THAT(bad(R"("targets": ["y"], "test": ["a.csv", "b/../a.csv"])"),
                AllOf(HasSubstr("task.test names \""), HasSubstr("a.csv\" twice")));
    EXPECT_THAT(bad(R"("targets": ["y"], "inputs": 3)"), HasSubstr("task.inputs is 3"));
    EXPECT_THAT(bad(R"("targets": ["y"], "warm_up": 2)"), HasSubstr("task.warm_up is 2"));
    EXPECT_THAT(bad(R"("targets": ["y"], "sequence_length": 4, "rows_per_evaluation": 3)"),
                HasSubstr("a sequence has 4 rows"));
    EXPECT_THAT(bad(R"("targets": ["y"], "sequence_length": 7)"), HasSubstr("has 6 rows"));
    EXPECT_THAT(bad(R"("targets": ["y"], "validation": {})"), HasSubstr("exactly one"));
    EXPECT_THAT(bad(R"("targets": ["y"], "validation": {"tail_fraction": 1})"),
                HasSubstr("task.validation.tail_fraction is 1"));
    EXPECT_THAT(error<ConfigError>(R"({"type": "table", "targets": ["y"]})"),
                HasSubstr("task.train is empty"));
}

TEST_F(Table, TargetsWhoseLossIsNoFloatAreRefused) {
    const auto settings = [&](const std::string& rows, const std::string& more = "") {
        folder_.write("scale.csv", "a,y\n" + rows);
        return R"({"type": "table", "train": ["scale.csv"], "targets": ["y"])" + more + "}";
    };
    const std::string tiny = "1,1e-25\n2,3e-25\n3,2e-25\n";
    EXPECT_THAT(error<ConfigError>(settings(tiny)),
                AllOf(HasSubstr("less than float32 can compare"), HasSubstr("the loss mae")));
    EXPECT_EQ(error<ConfigError>(settings(tiny, R"(, "loss": "mae")")), "no error");
    EXPECT_THAT(error<ConfigError>(settings("1,1e21\n2,3e21\n3,2e21\n")),
                HasSubstr("more than float32 holds"));
    for (const char* rows : {"1,1e-15\n2,3e-15\n", "1,1e18\n2,3e18\n", "1,1e-25\n2,1e-25\n",
                             "1,1e30\n2,1e30\n", "1,0\n2,0\n", "1,1\n2,0.9999999999999999\n3,1\n"})
        EXPECT_EQ(error<ConfigError>(settings(rows)), "no error") << rows;
    EXPECT_EQ(error<ConfigError>(settings("1,1e-25\n2,1e-25\n", R"(, "normalise": "none")")),
              "no error");
}

TEST_F(Table, AColumnThatOnlyRoundingChangesIsShiftedAlone) {
    folder_.write("rounding.csv", "a,b,y\n0.30000000000000004,1,1\n0.3,2,2\n");
    for (const char* normalise : {"mean_deviation", "min_max"}) {
        const auto task = testing::standard_task(
            fmt::format(
                R"({{"type": "table", "train": ["rounding.csv"], "targets": ["y"], "normalise": "{}"}})",
                normalise),
            folder_.path());
        const std::vector<double> inputs = task->data(Phase::train)[0].elements;
        EXPECT_NEAR(inputs[0], inputs[2], 1e-15) << normalise;
        EXPECT_GT(inputs[3] - inputs[1], 0.5) << normalise;
    }
}

TEST_F(Table, BadDataNamesTheFile) {
    const auto bad = [&](const std::string& text, const std::string& keys) {
        folder_.write("bad.csv", text);
        return error<InputError>(
            fmt::format(R"({{"type": "table", "train": ["bad.csv"], {}}})", keys));
    };
    EXPECT_THAT(bad("a,y\n1,2\n3\n", R"("targets": ["y"])"), HasSubstr("bad.csv:3"));
    EXPECT_THAT(bad("a,y\n1,nan\n", R"("targets": ["y"])"), HasSubstr("column y has no value"));
    EXPECT_THAT(bad("a,y\n1,2\n", R"("targets": ["yy"])"), HasSubstr("did you mean \"y\"?"));
    EXPECT_THAT(bad("a,y\n1,2\n", R"("targets": ["y"], "time_offset": 1)"),
                AllOf(HasSubstr("bad.csv has 1 rows"), HasSubstr("at least 2")));
    EXPECT_THAT(bad("y\n1\n2\n", R"("targets": ["y"])"), HasSubstr("no input columns"));
    EXPECT_THAT(bad("a,y\n1,2\n1,2.5\n", R"("targets": ["y"], "mode": "classification")"),
                AllOf(HasSubstr("bad.csv:3"), HasSubstr("whole numbers")));
    EXPECT_THAT(bad("a,y\n1,2\n1,2\n", R"("targets": ["y"], "mode": "classification")"),
                HasSubstr("one class only"));
    EXPECT_THAT(bad("a,b,y\n1,1,2\n1,1,9\n",
                    R"("targets": ["y"], "mode": "classification", "test": ["six.csv"])"),
                AllOf(HasSubstr("six.csv"), HasSubstr("holds class 1")));
    EXPECT_THAT(
        error<InputError>(R"({"type": "table", "train": ["absent.csv"], "targets": ["y"]})"),
        HasSubstr("absent.csv"));
}

}  // namespace
}  // namespace cambrian::evolve::table_task_test
