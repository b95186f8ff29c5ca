#include <fmt/format.h>

#include <cmath>
#include <sstream>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/tests/evolve/support/task_support.hpp"

namespace cambrian::evolve {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TableNotes : public ::testing::Test {
  protected:
    TableNotes() {
        folder_.write("numbers.csv",
                      "a,b,y,z\n1,1000,1,500\n2,2000,3,900\n3,1500,2,100\n4,10,6,0\n");
        folder_.write("classes.csv", "a,k\n1,3\n2,5\n3,9\n4,3\n5,5\n6,9\n7,9\n8,9\n");
    }
    std::unique_ptr<Task> make(const std::string& file, const std::string& keys) const {
        return testing::standard_task(
            R"({"type": "table", "train": [")" + file + R"("], )" + keys + "}", folder_.path());
    }
    std::vector<std::string> baselines(const std::string& file, const std::string& keys) const {
        std::vector<std::string> names;
        for (const auto& baseline : make(file, keys)->baselines(Phase::train))
            names.push_back(baseline.name);
        return names;
    }

    testing::TemporaryFolder folder_;
};

TEST_F(TableNotes, ColumnsAreScaledUnlessTheConfigSaysNo) {
    const std::string keys = R"("inputs": ["a", "b"], "targets": ["y"])";
    const auto scaled = make("numbers.csv", keys);
    EXPECT_THAT(scaled->notes(), IsEmpty());
    EXPECT_EQ(scaled->data(Phase::train)[0].elements[0], (1.0 - 2.5) / std::sqrt(1.25));
    EXPECT_THAT(
        make("numbers.csv", keys + R"(, "normalise": "none")")->notes(),
        ElementsAre("inputs are not scaled (task.normalise is none): values up to 4 in a, up to "
                    "2000 in b"));
}

TEST_F(TableNotes, BaselinesAreThoseThatFit) {
    EXPECT_THAT(baselines("numbers.csv", R"("targets": ["y"])"),
                ElementsAre("mean", "least_squares"));
    EXPECT_THAT(baselines("numbers.csv", R"("targets": ["y"], "time_offset": 1)"),
                ElementsAre("persistence", "least_squares"));
    EXPECT_THAT(baselines("classes.csv", R"("targets": ["k"], "mode": "classification")"),
                ElementsAre("majority (accuracy)", "frequencies"));
    EXPECT_THAT(baselines("numbers.csv", R"("targets": ["y"], "baselines": [])"), IsEmpty());
    EXPECT_THAT(make("numbers.csv", R"("targets": ["y"], "baselines": [])")->notes(),
                Contains(HasSubstr("no baselines (task.baselines is empty)")));
}

TEST_F(TableNotes, TheMeanOfTheTrainingRowsIsABaseline) {
    const auto task = make("numbers.csv", R"("targets": ["y"], "baselines": ["mean"])");
    // Of 1, 3, 2 and 6 the mean is 3.
    EXPECT_EQ(task->baselines(Phase::train)[0].loss, (4.0 + 0.0 + 1.0 + 9.0) / 4.0);
}

TEST_F(TableNotes, AutoregressionFindsTheRuleOfASeries) {
    // Two values decide the next; before the first it was as it is there.
    std::string text = "y\n1\n";
    double before = 1.0;
    double now = 1.0;
    for (int row = 0; row < 20; ++row) {
        const double next = 0.9 * now - 0.5 * before + 0.25;
        before = now;
        now = next;
        text += fmt::format("{:.17g}\n", now);
    }
    folder_.write("series.csv", text);
    const auto found = make("series.csv", R"("targets": ["y"], "time_offset": 1,
        "baselines": ["autoregressive"], "autoregressive_orders": [1, 2])")
                           ->baselines(Phase::train);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].name, "autoregressive(1)");
    EXPECT_GT(found[0].loss, 1e-3);
    EXPECT_EQ(found[1].name, "autoregressive(2)");
    EXPECT_LT(found[1].loss, 1e-20);
    // A row that is left out keeps its place: others are as long ago as before.
    std::istringstream lines(text);
    std::string gap;
    std::string line;
    for (int row = 0; std::getline(lines, line); ++row) gap += row == 9 ? "\n" : line + "\n";
    std::string with_gap;
    std::istringstream cells(gap);
    for (int row = 0; std::getline(cells, line); ++row)
        with_gap += row == 0 ? "x,y\n" : fmt::format("1,{}\n", line);
    folder_.write("gap.csv", with_gap);
    const auto past_gap = make("gap.csv", R"("targets": ["y"], "inputs": ["y"], "time_offset": 1,
        "missing_values": "drop", "baselines": ["autoregressive"],
        "autoregressive_orders": [2])")
                              ->baselines(Phase::train);
    // But for the row after the gap, whose value before it is not known.
    EXPECT_LT(past_gap[0].loss, 0.02 * found[0].loss * 20.0);
    const std::string named = R"("targets": ["y"], "baselines": ["autoregressive"])";
    EXPECT_THROW(make("series.csv", named), ConfigError);
    const std::string none = R"(, "time_offset": 1, "autoregressive_orders": [0])";
    EXPECT_THROW(make("series.csv", named + none), ConfigError);
}

TEST_F(TableNotes, AutoregressionReadsWhatIsBeforeATail) {
    std::string text = "y\n";
    for (int row = 0; row < 60; ++row) text += fmt::format("{:.17g}\n", std::sin(0.5 * row));
    folder_.write("sine.csv", text);
    const std::string keys = R"("targets": ["y"], "time_offset": 1, "baselines": )"
                             R"(["autoregressive"], "autoregressive_orders": [2, 5])";
    const auto tail = make("sine.csv", keys + R"(, "validation": {"tail_fraction": 0.2})");
    // A sine follows from its last two values, those of the rows that train, too; a row that
    // repeats the first one of the file is none of the series.
    for (const auto& baseline : tail->baselines(Phase::validation))
        EXPECT_LT(baseline.loss, 1e-25) << baseline.name;
    // But where all are too short.
    folder_.write("short.csv", "y\n1\n2\n4\n8\n");
    const auto padded = make("short.csv", keys)->baselines(Phase::train);
    EXPECT_LT(padded[1].loss, 1e-20);
}

TEST_F(TableNotes, AFewLongSeriesDoNotDecideTheAutoregressionOfShortOnes) {
    std::string files;
    double value = 0.0;
    for (int file = 0; file < 20; ++file) {
        std::string text = "y\n";
        for (int row = 0; row < (file < 6 ? 13 : 8); ++row) {
            value = 0.5 * value + std::sin(37.0 * file + 11.0 * row * row);
            text += fmt::format("{:.17g}\n", value);
        }
        const std::string name = fmt::format("{}.csv", file);
        folder_.write(name, text);
        files += (file == 0 ? "" : R"(", ")") + name;
    }
    const auto fitted = make(files, R"("targets": ["y"], "time_offset": 1, "baselines":
                             ["autoregressive"], "autoregressive_orders": [5, 10])")
                            ->baselines(Phase::train);
    EXPECT_LT(fitted[1].loss, 1.05 * fitted[0].loss);
}

TEST_F(TableNotes, BaselinesSeeSmallChangesOfLargeValues) {
    std::string text = "u,y\n";
    for (int row = 0; row < 60; ++row) {
        const double wave = std::sin(0.5 * row);
        text += fmt::format("{:.17g},{:.17g}\n", 1e7 + 0.003 * wave, wave);
    }
    folder_.write("offset.csv", text);
    EXPECT_LT(make("offset.csv", R"("targets": ["u"], "inputs": ["u"], "time_offset": 1,
                   "baselines": ["autoregressive"], "autoregressive_orders": [2])")
                  ->baselines(Phase::train)[0]
                  .loss,
              1e-6);
    EXPECT_LT(make("offset.csv", R"("targets": ["y"], "normalise": "none",
                   "baselines": ["least_squares"])")
                  ->baselines(Phase::train)[0]
                  .loss,
              1e-6);
}

TEST_F(TableNotes, ATailOfOneClassIsTold) {
    const std::string keys = R"("targets": ["k"], "mode": "classification", )";
    EXPECT_THAT(make("classes.csv", keys + R"("validation": {"tail_fraction": 0.25})")->notes(),
                Contains(HasSubstr("validation holds class 9 alone")));
    EXPECT_THAT(make("classes.csv", keys + R"("validation": {"tail_fraction": 0.5})")->notes(),
                Contains("validation has no row of class 3"));
    folder_.write("all.csv", "a,k\n1,3\n2,5\n3,9\n");
    EXPECT_THAT(make("classes.csv", keys + R"("validation": {"files": ["all.csv"]})")->notes(),
                ElementsAre("classes 3, 5, 9 are outputs 0 to 2"));
}

TEST_F(TableNotes, APartOfADataSetWithOneClassIsTold) {
    const auto task = testing::standard_task(
        R"({"type": "dataset", "loss": {"type": "cross_entropy"},
            "source": {"type": "csv", "files": ["classes.csv"], "targets": ["k"], "classes": true},
            "split": {"validation": 0.25, "shuffle": false}})",
        folder_.path());
    EXPECT_THAT(task->notes(), Contains(HasSubstr("validation holds class 9 alone")));
}

TEST_F(TableNotes, TargetsOfOtherScaleAreTold) {
    EXPECT_THAT(make("numbers.csv", R"("inputs": ["a"], "targets": ["y", "z"])")->notes(),
                ElementsAre(HasSubstr("the loss is nearly that of z alone")));
}

TEST_F(TableNotes, LossesHaveUnitsWhereOutputsAreScaled) {
    const auto units = [&](const std::string& keys) {
        return make("numbers.csv", R"("inputs": ["a"], )" + keys)->loss_units();
    };
    const auto squared = units(R"("targets": ["y"])");
    ASSERT_TRUE(squared);
    EXPECT_EQ(squared->name, "mse in the units of the file");
    EXPECT_DOUBLE_EQ(squared->factor.value(), 3.5);  // The variance of 1, 3, 2 and 6.
    EXPECT_DOUBLE_EQ(
        units(R"("targets": ["y"], "loss": "mae", "normalise": "min_max")").value().factor.value(),
        5.0);
    EXPECT_FALSE(units(R"("targets": ["y", "z"])").value().factor);
    EXPECT_FALSE(units(R"("targets": ["y"], "normalise": "none")"));
}

TEST_F(TableNotes, ABaselineThatTakesLongIsLeftOutUnlessItIsNamed) {
    std::string header = "y";
    std::string row = "1";
    for (int column = 0; column < 8000; ++column) {
        header += ",c" + std::to_string(column);
        row += "," + std::to_string(column % 7);
    }
    std::string text = header + "\n";
    for (int line = 0; line < 3; ++line) text += row + "\n";
    folder_.write("wide.csv", text);
    const auto task = make("wide.csv", R"("targets": ["y"])");
    EXPECT_THAT(task->notes(),
                Contains(HasSubstr("the baseline least_squares is left out (3 rows of 8000")));
    ASSERT_EQ(task->baselines(Phase::train).size(), 1U);
    EXPECT_EQ(task->baselines(Phase::train)[0].name, "mean");
}

}  // namespace
}  // namespace cambrian::evolve
