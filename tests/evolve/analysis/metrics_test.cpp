#include "cambrian/evolve/analysis/metrics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>

namespace cambrian::evolve {
namespace {

using ::testing::ElementsAre;

double value(std::string_view name, const Truth& truth, const Answers& answers) {
    return metric(name).of(truth, answers).value();
}

/// Three classes, two rows of each; four of six answers are right.
struct Classes : ::testing::Test {
    Truth truth{.classes = true, .width = 3, .targets = {0, 0, 1, 1, 2, 2}, .labels = {10, 20, 30}};
    Answers answers{.values = {.7, .2, .1, .4, .5, .1, .1, .8, .1,  //
                               .3, .3, .4, .2, .2, .6, .1, .3, .6},
                    .chosen = {0, 1, 1, 2, 2, 2}};
};

TEST_F(Classes, MetricsAreThoseWorkedOutByHand) {
    EXPECT_NEAR(value("accuracy", truth, answers), 4.0 / 6.0, 1e-15);
    EXPECT_NEAR(value("balanced_accuracy", truth, answers), (.5 + .5 + 1.0) / 3.0, 1e-15);
    EXPECT_NEAR(value("precision", truth, answers), (1.0 + .5 + 2.0 / 3.0) / 3.0, 1e-15);
    EXPECT_NEAR(value("recall", truth, answers), 2.0 / 3.0, 1e-15);
    EXPECT_NEAR(value("f1", truth, answers), (2.0 / 3.0 + .5 + .8) / 3.0, 1e-15);
    EXPECT_NEAR(value("log_loss", truth, answers),
                -(std::log(.7) + std::log(.4) + std::log(.8) + std::log(.3) + 2 * std::log(.6)) / 6,
                1e-15);
    // .14 + .62 + .06 + .74 + .24 + .26
    EXPECT_NEAR(value("brier", truth, answers), 2.06 / 6.0, 1e-15);
    // |1 - .7| + |0 - .5| + |1 - .8| + |0 - .4| + 2 |1 - .6|
    EXPECT_NEAR(value("calibration_error", truth, answers), 2.2 / 6.0, 1e-15);
}

TEST_F(Classes, ConfusionHasALineForEachTarget) {
    EXPECT_THAT(confusion_matrix(truth, answers), ElementsAre(1, 1, 0, 0, 1, 1, 0, 0, 2));
    const std::vector<ClassScore> scores = class_scores(truth, answers);
    EXPECT_EQ(scores[2].targets, 2U);
    EXPECT_EQ(scores[2].answers, 3U);
    EXPECT_EQ(scores[2].right, 2U);
}

TEST_F(Classes, AClassWithoutAnswersHasPrecisionZeroAndOneWithoutRowsDoesNotBalance) {
    truth.targets = {0, 0, 0, 0, 0, 2};
    answers.chosen = {0, 0, 0, 1, 1, 0};
    // Recalls .6 and 0 of the two classes with rows; class 1 is answered, but never right.
    EXPECT_NEAR(value("balanced_accuracy", truth, answers), .3, 1e-15);
    EXPECT_NEAR(value("recall", truth, answers), .2, 1e-15);
    EXPECT_NEAR(value("precision", truth, answers), (.75 + 0 + 0) / 3.0, 1e-15);
}

TEST_F(Classes, CalibrationCountsEveryRowOnceAndTheEndsToo) {
    answers.values = {1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0};
    answers.chosen = {0, 0, 1, 1, 2, 2};
    const std::vector<CalibrationBin> bins = calibration(truth, answers);
    ASSERT_EQ(bins.size(), 10U);
    EXPECT_EQ(bins[0].rows, 2U);  // Probability 0.
    EXPECT_EQ(bins[9].rows, 4U);  // Probability 1.
    EXPECT_EQ(bins[9].accuracy, 1.0);
    EXPECT_NEAR(calibration_error(bins), 2.0 / 6.0, 1e-15);
    EXPECT_TRUE(std::isinf(value("log_loss", truth, answers)));
}

TEST_F(Classes, DeviationsAreThoseOfTheLabels) {
    const Deviations found = deviations(truth, answers);
    // 10 taken to be 20 is 100 %, 20 taken to be 30 is 50 %.
    EXPECT_THAT(found.buckets, ElementsAre(4, 0, 0, 0, 1, 1, 0));
    EXPECT_NEAR(found.average, 150.0 / 6.0, 1e-12);
    EXPECT_NEAR(found.score, 450.0 / 6.0, 1e-12);
    EXPECT_THAT(right_answers(truth, answers), ElementsAre(1, 0, 1, 0, 1, 1));
}

TEST(Numbers, MetricsAreThoseWorkedOutByHand) {
    const Truth truth{.classes = false, .width = 1, .targets = {1, 2, 3, 4}, .labels = {}};
    const Answers answers{.values = {1.5, 2, 2.5, 6}, .chosen = {}};
    EXPECT_NEAR(value("mse", truth, answers), 4.5 / 4.0, 1e-15);
    EXPECT_NEAR(value("mae", truth, answers), 3.0 / 4.0, 1e-15);
    EXPECT_NEAR(value("r2", truth, answers), 1.0 - 4.5 / 5.0, 1e-15);
}

TEST(Numbers, TheR2OfSeveralColumnsIsTheirMean) {
    // The second column is answered with its mean: 0. The first exactly: 1.
    const Truth truth{.classes = false, .width = 2, .targets = {1, 4, 2, 8}, .labels = {}};
    EXPECT_NEAR(value("r2", truth, {.values = {1, 6, 2, 6}, .chosen = {}}), 0.5, 1e-15);
    const Truth flat{.classes = false, .width = 1, .targets = {3, 3}, .labels = {}};
    EXPECT_FALSE(metric("r2").of(flat, {.values = {3, 3}, .chosen = {}}));
}

TEST(Numbers, TheR2OfAColumnThatNeverChangesIsNotKnown) {
    // The mean of ten times .1 is another number.
    const Truth flat{
        .classes = false, .width = 1, .targets = std::vector<double>(10, .1), .labels = {}};
    EXPECT_FALSE(metric("r2").of(flat, {.values = std::vector<double>(10, .2), .chosen = {}}));
    // Nor is that of a row with such a column.
    Truth beside{.classes = false, .width = 2, .targets = {}, .labels = {}};
    for (int i = 0; i < 10; ++i) beside.targets.insert(beside.targets.end(), {1.0 * i, .1});
    EXPECT_FALSE(metric("r2").of(beside, {.values = beside.targets, .chosen = {}}));
}

TEST(Numbers, DeviationsFallIntoBucketsWithTheirUpperEnds) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const Truth truth{.classes = false, .width = 1, .targets = {4, 8, 2, 2, 0, 1, 1}, .labels = {}};
    const Answers answers{.values = {5, 12, 4, 5, .05, nan, 1}, .chosen = {}};
    const Deviations found = deviations(truth, answers);
    // 25, 50, 100, 150, 5 (of a target of 0 the error itself), no number, 0.
    EXPECT_THAT(found.buckets, ElementsAre(2, 0, 1, 0, 1, 1, 2));
    EXPECT_NEAR(found.average, (25 + 50 + 100 + 150 + 5 + 100 + 0) / 7.0, 1e-12);
    EXPECT_NEAR(found.score, (75 + 50 + 0 + 0 + 95 + 0 + 100) / 7.0, 1e-12);
    EXPECT_EQ(value("deviation_score", truth, answers), found.score);
    EXPECT_THAT(right_answers(truth, answers), ElementsAre(0, 0, 0, 0, 1, 0, 1));
}

TEST(Metrics, NothingIsMeasuredOfNoRows) {
    const Truth numbers{.classes = false, .width = 1, .targets = {}, .labels = {}};
    const Truth classes{.classes = true, .width = 2, .targets = {}, .labels = {0, 1}};
    for (const Metric& each : metrics())
        EXPECT_FALSE(each.of(each.classes ? classes : numbers, {})) << each.name;
}

TEST(Metrics, EveryRowOfTheTableSaysWhatItIs) {
    std::set<std::string_view> names;
    for (const Metric& each : metrics()) {
        EXPECT_TRUE(names.insert(each.name).second) << each.name;
        EXPECT_FALSE(each.formula.empty()) << each.name;
    }
}

}  // namespace
}  // namespace cambrian::evolve
