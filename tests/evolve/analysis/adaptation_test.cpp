#include "cambrian/evolve/analysis/adaptation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <tuple>

#include "cambrian/engine/core/error.hpp"

namespace cambrian::evolve {
namespace {

/// One step after the other from 0 on, each of 10 evaluations.
std::vector<Progress> steps(const std::vector<double>& values) {
    std::vector<Progress> progress;
    for (std::size_t i = 0; i < values.size(); ++i)
        progress.push_back({.step = i, .evaluations = 10 * (i + 1), .value = values[i]});
    return progress;
}

TEST(Adaptations, TellWhatWasLostAndWhenItWasBack) {
    const auto progress = steps({50, 100, 20, 10, 60, 96, 90, 30, 40});
    const std::vector<std::uint64_t> changes{2, 7};
    const std::vector<Adaptation> found = adaptations(progress, changes);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].step, 2U);
    EXPECT_EQ(found[0].before, 100.0);
    EXPECT_EQ(found[0].after, 20.0);
    EXPECT_EQ(found[0].lowest, 10.0);
    EXPECT_EQ(found[0].highest, 96.0);
    EXPECT_DOUBLE_EQ(found[0].goal, 95.0);
    EXPECT_EQ(found[0].steps, 4U);  // From step 1 to step 5.
    EXPECT_EQ(found[0].evaluations, 40U);
    EXPECT_EQ(found[1].before, 90.0);
    EXPECT_FALSE(found[1].steps);
    EXPECT_EQ(found[1].highest, 40.0);
    EXPECT_EQ(adaptations(progress, changes, 0.6)[0].steps, 3U);
}

TEST(Adaptations, ALossRecoversByASmallerOne) {
    EXPECT_DOUBLE_EQ(recovery_goal(-0.095, 0.95), -0.1);
    const std::vector<std::uint64_t> changes{1};
    const auto found = adaptations(steps({-0.095, -1.0, -0.11, -0.099}), changes);
    EXPECT_EQ(found[0].steps, 3U);
    EXPECT_EQ(found[0].lowest, -1.0);
}

TEST(Adaptations, StepsWithoutAValueTakeTheirTime) {
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    const std::vector<std::uint64_t> changes{4};
    const auto found = adaptations(steps({100, none, 90, none, none, 10, none, 95, 96}), changes);
    EXPECT_EQ(found[0].step, 4U);
    EXPECT_EQ(found[0].before, 90.0);
    EXPECT_EQ(found[0].after, 10.0);
    EXPECT_EQ(found[0].steps, 4U);  // From step 3, the last of the first task, to step 7.
    EXPECT_EQ(found[0].evaluations, 40U);
    const std::vector<std::uint64_t> second{1};
    EXPECT_THROW(static_cast<void>(adaptations(steps({none, 1}), second)), ConfigError);
    EXPECT_THROW(static_cast<void>(adaptations(steps({1, none}), second)), ConfigError);
}

TEST(Adaptations, TellOfOthersWhereNothingIsKnownOfOne) {
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    const auto progress = steps({none, none, 100, 10, none, 96, none, none});
    const std::vector<std::uint64_t> changes{1, 3, 6, 8};
    const auto found = known_adaptations(progress, changes);
    ASSERT_EQ(found.size(), 4U);
    EXPECT_FALSE(found[0] || found[2] || found[3]);
    ASSERT_TRUE(found[1]);
    EXPECT_EQ(found[1]->before, 100.0);
    EXPECT_EQ(found[1]->steps, 3U);
    EXPECT_THROW(static_cast<void>(adaptations(progress, changes)), ConfigError);
    const std::vector<std::uint64_t> twice{3, 3};
    EXPECT_THROW(static_cast<void>(known_adaptations(progress, twice)), ConfigError);
    const std::vector<std::uint64_t> back{8, 3};
    EXPECT_THROW(static_cast<void>(known_adaptations(progress, back)), ConfigError);
}

TEST(Adaptations, BeforeIsOfTheTaskBefore) {
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    const std::vector<std::uint64_t> changes{2, 4, 6};
    // Nothing was measured of the second task: what the first one reached is not "before" the
    // third.
    const auto found = known_adaptations(steps({1, 9, none, none, 3, 4, 2, 5}), changes);
    EXPECT_FALSE(found[0] || found[1]);
    ASSERT_TRUE(found[2]);
    EXPECT_EQ(found[2]->before, 4.0);
    EXPECT_EQ(found[2]->steps, 2U);
    // Nor where no step of it is known at all.
    const std::vector<Progress> gap{{0, 10, 9.0}, {1, 20, 9.0}, {7, 30, 3.0}};
    const auto unknown = known_adaptations(gap, changes);
    EXPECT_FALSE(unknown[0] || unknown[1] || unknown[2]);
    EXPECT_EQ(known_adaptations(gap, std::vector<std::uint64_t>{5})[0]->before, 9.0);
}

TEST(Adaptations, RefuseWhatTheyCannotTell) {
    const auto progress = steps({1, 2, 3});
    const auto refused = [&](const std::vector<std::uint64_t>& changes, double share) {
        EXPECT_THROW(static_cast<void>(adaptations(progress, changes, share)), ConfigError);
    };
    refused({0}, 0.95);
    refused({3}, 0.95);
    refused({2, 1}, 0.95);
    refused({1, 1}, 0.95);
    refused({1}, 0.0);
    refused({1}, 1.5);
}

TEST(AdaptationTracker, CountsWindowsAndRecovery) {
    AdaptationTracker tracker(1.0);
    // Ten answers a second for eight seconds; the task changes at 3 and is learned again at 5.
    for (int i = 0; i < 80; ++i) tracker.record(0.05 + 0.1 * i, i < 30 || i >= 50 || i % 2 == 0);
    tracker.change(3.0);
    ASSERT_EQ(tracker.windows().size(), 8U);
    EXPECT_EQ(tracker.windows()[3].right, 5U);
    EXPECT_NEAR(tracker.mean_accuracy(), 7.0 / 8.0, 1e-15);
    EXPECT_EQ(tracker.answers_per_second(2), 10.0);
    const auto found = tracker.adaptations();
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].before, 1.0);
    EXPECT_EQ(found[0].after, 0.5);
    EXPECT_EQ(found[0].steps, 3U);  // Windows 3, 4 and 5.
    EXPECT_EQ(found[0].evaluations, 30U);
    EXPECT_THROW(tracker.record(-1.0, true), ConfigError);
    EXPECT_THROW(tracker.record(1e9, true), ConfigError);
    EXPECT_THROW(tracker.change(2.0), ConfigError);
    EXPECT_THROW(AdaptationTracker(0.0), ConfigError);
}

TEST(AdaptationTracker, AChangeAtTheStartOfAWindowIsBeforeIt) {
    // Quotients that are rounded up, or products that are rounded down.
    for (const auto& [change, window, first] : {std::tuple{0.07, 0.01, 7U},
                                                {0.14, 0.01, 14U},
                                                {0.9, 0.3, 3U},
                                                {3.6, 0.3, 12U},
                                                {0.071, 0.01, 8U},
                                                {0.899, 0.3, 3U},
                                                {0.901, 0.3, 4U}}) {
        AdaptationTracker tracker(window);
        for (int i = 0; i < 20; ++i) tracker.record((i + 0.5) * window, true);
        tracker.change(change);
        EXPECT_EQ(tracker.adaptations()[0].step, first) << change << " " << window;
    }
}

TEST(AdaptationTracker, ChangesInOneWindowCountAsOne) {
    AdaptationTracker tracker(1.0);
    for (int i = 0; i < 8; ++i) tracker.record(i + 0.5, i < 3);
    for (const double change : {2.25, 2.75, 5.0}) tracker.change(change);
    const auto found = tracker.adaptations();
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].step, 3U);
    EXPECT_EQ(found[0].before, 1.0);
    EXPECT_EQ(found[1].step, 5U);
}

TEST(AdaptationTracker, WindowsWithoutAnswersSayNothing) {
    AdaptationTracker tracker(2.0);
    EXPECT_EQ(tracker.mean_accuracy(), 0.0);
    tracker.record(1.0, true);
    tracker.record(9.0, false);
    EXPECT_NEAR(tracker.mean_accuracy(), 0.5, 1e-15);
    EXPECT_EQ(tracker.windows()[2].answers, 0U);
    EXPECT_EQ(tracker.answers_per_second(77), 0.0);
    // Of the task between the two changes nothing is known.
    tracker.change(2.0);
    EXPECT_EQ(tracker.adaptations()[0].before, 1.0);
    tracker.change(8.0);
    EXPECT_THROW(static_cast<void>(tracker.adaptations()), ConfigError);
}

}  // namespace
}  // namespace cambrian::evolve
