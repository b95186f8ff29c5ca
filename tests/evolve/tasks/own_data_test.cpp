#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/tasks/labelled_rows.hpp"
#include "cambrian/tests/evolve/support/task_support.hpp"

// Rows as users have them: labels in words, gaps, rows sorted by class.
namespace cambrian::evolve {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class OwnData : public ::testing::Test {
  protected:
    /// 40 rows of "oak", 20 of "elm", one of "yew", in this order; a counts the rows.
    OwnData() {
        std::string text = "a,tree\n";
        for (int row = 0; row < 61; ++row)
            text += fmt::format("{},{}\n", row, row < 40 ? "oak" : row < 60 ? "elm" : "yew");
        folder_.write("trees.csv", text);
        folder_.write("gaps.csv", "a,b,y\n1,10,1\n2,,2\n4,NA,3\n?,40,4\n9,30,5\n100,1000,6\n");
    }
    std::unique_ptr<Task> make(const std::string& settings) const {
        return testing::standard_task(settings, folder_.path());
    }
    std::unique_ptr<Task> trees(const std::string& validation) const {
        return make(R"({"type": "table", "train": ["trees.csv"], "mode": "classification",
            "targets": ["tree"], "normalise": "none", "validation": )" +
                    validation + "}");
    }
    static std::map<std::string, int> labels(const Task& task, Phase phase) {
        const auto rows = labelled_rows(task, phase);
        std::map<std::string, int> count;
        for (const double target : rows->targets)
            ++count[rows->label_names[static_cast<std::size_t>(target)]];
        return count;
    }

    testing::TemporaryFolder folder_;
};

TEST_F(OwnData, APartIsDrawnFromEachClassAlike) {
    const auto task = trees(R"({"fraction": 0.25})");
    EXPECT_EQ(labels(*task, Phase::validation),
              (std::map<std::string, int>{{"oak", 10}, {"elm", 5}}));
    EXPECT_EQ(labels(*task, Phase::train),
              (std::map<std::string, int>{{"oak", 30}, {"elm", 15}, {"yew", 1}}));
    EXPECT_THAT(
        task->notes(),
        Contains("validation: 15 of 61 rows, drawn at random, of each class alike (seed 1)"));
    // Each row is in one part.
    std::vector<double> rows = task->data(Phase::train)[0].elements;
    const std::vector<double> others = task->data(Phase::validation)[0].elements;
    EXPECT_TRUE(std::ranges::is_sorted(others));
    EXPECT_NE(others.front(), others.back() - static_cast<double>(others.size()) + 1);
    rows.insert(rows.end(), others.begin(), others.end());
    std::ranges::sort(rows);
    for (std::size_t i = 0; i < 61; ++i) EXPECT_EQ(rows[i], static_cast<double>(i));
    // The same for a seed, others for others.
    EXPECT_EQ(trees(R"({"fraction": 0.25, "seed": 1})")->data(Phase::validation)[0].elements,
              others);
    EXPECT_NE(trees(R"({"fraction": 0.25, "seed": 2})")->data(Phase::validation)[0].elements,
              others);
}

TEST_F(OwnData, ATimeSeriesIsNotShuffled) {
    const auto task = make(R"({"type": "table", "train": ["trees.csv"], "inputs": ["a"],
        "targets": ["a"], "time_offset": 1, "normalise": "none", "validation": {"fraction": 0.2}})");
    EXPECT_EQ(task->data(Phase::validation)[0].elements.front(), 49.0);
    EXPECT_EQ(task->data(Phase::train)[0].elements.back(), 47.0);
    EXPECT_THAT(task->notes(), Contains(HasSubstr("a time series is not shuffled")));
    EXPECT_EQ(task->preparation()->ahead, 1);
    EXPECT_EQ(task->preparation()->answer_name(0), "a(t+1)");
}

TEST_F(OwnData, RowsOfADataSetAreStratifiedWhereAsked) {
    const auto parts = [&](const std::string& split) {
        return make(R"({"type": "dataset", "source": {"type": "csv", "files": ["trees.csv"],
            "targets": ["tree"], "classes": true}, "loss": {"type": "cross_entropy"}, "split": )" +
                    split + "}");
    };
    const auto task = parts(R"({"validation": 0.2, "test": 0.2, "stratify": true})");
    for (const Phase phase : {Phase::validation, Phase::test}) {
        const auto count = labels(*task, phase);
        EXPECT_EQ(count.at("oak"), 8) << name(phase);
        EXPECT_EQ(count.at("elm"), 4) << name(phase);
    }
    EXPECT_THAT(task->notes(), Contains(HasSubstr("of each class alike (seed 1)")));
    EXPECT_EQ(task->data(Phase::train)[0].elements,
              parts(R"({"validation": 0.2, "test": 0.2, "stratify": true})")
                  ->data(Phase::train)[0]
                  .elements);
    const auto plain = parts(R"({"validation": 0.2, "test": 0.2})");
    EXPECT_NE(task->data(Phase::train)[0].elements, plain->data(Phase::train)[0].elements);
    EXPECT_THAT(plain->notes(), Each(Not(HasSubstr("alike"))));
    EXPECT_THAT(task->preparation()->labels, ElementsAre("elm", "oak", "yew"));
    EXPECT_EQ(task->preparation()->outputs[1].name, "tree=oak");
}

TEST_F(OwnData, GapsAreFilledFromRowsThatTrainAlone) {
    // The last row, which validates, would move every mean.
    const auto table = [&](const std::string& missing) {
        return make(
            R"({"type": "table", "train": ["gaps.csv"], "targets": ["y"], "normalise": "none",
            "validation": {"tail_fraction": 0.17}, "missing_values": ")" +
            missing + "\"}");
    };
    const auto mean = table("mean");
    EXPECT_THAT(mean->data(Phase::train)[0].elements,
                ElementsAre(1, 10, 2, 80.0 / 3, 4, 80.0 / 3, 4, 40, 9, 30));
    EXPECT_THAT(mean->notes(), Contains("3 missing values in 2 columns: the mean of the rows that "
                                        "train stands for them"));
    EXPECT_EQ(mean->preparation()->missing_values, MissingValues::mean);
    EXPECT_EQ(mean->preparation()->inputs[1].fill, 80.0 / 3);
    EXPECT_THAT(table("median")->data(Phase::train)[0].elements,
                ElementsAre(1, 10, 2, 30, 4, 30, 3, 40, 9, 30));
    EXPECT_THAT(make(R"({"type": "table", "train": ["gaps.csv"], "targets": ["y"],
                    "missing_values": "drop"})")
                    ->notes(),
                Contains(HasSubstr("gaps.csv: 3 of 6 rows lack a value and are left out (line 3")));

    const auto dataset =
        make(R"({"type": "dataset", "source": {"type": "csv", "files": ["gaps.csv"],
        "targets": ["y"], "scale": 0.5, "missing_values": "mean"},
        "split": {"test": 1, "shuffle": false}})");
    EXPECT_THAT(dataset->data(Phase::train)[0].elements,
                ElementsAre(0.5, 5, 1, 40.0 / 3, 2, 40.0 / 3, 2, 20, 4.5, 15));
    EXPECT_EQ(dataset->preparation()->inputs[1].fill, 40.0 / 3);
    EXPECT_THAT(dataset->notes(), Contains(HasSubstr("3 missing values: the mean")));
}

TEST_F(OwnData, ANormalisedGapIsWhatTheNetworkSees) {
    const auto task = make(R"({"type": "table", "train": ["gaps.csv"], "targets": ["y"],
        "normalise": "min_max", "missing_values": "median"})");
    const auto inputs = task->data(Phase::train)[0].elements;
    EXPECT_EQ(task->preparation()->inputs[0].fill, inputs[6]);
    EXPECT_EQ(task->preparation()->inputs[1].fill, inputs[3]);
}

}  // namespace
}  // namespace cambrian::evolve
