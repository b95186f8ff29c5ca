#include "cambrian/engine/train/trainer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/tests/engine/train/trainer_support.hpp"

// The best that a training comes to, and when it stops.
namespace cambrian::trainer_best_test {
namespace {

using test::data_of;
using test::network_of;
using test::tanh_layers;
using testing::Each;
using testing::HasSubstr;

TEST(Trainer, AGradientThatIsNotFiniteIsSkippedAndCounted) {
    const auto backend = make_cpu_backend({});
    DataSet data = data_of({{"type", "sine"}, {"rows", 8}}, MeanSquaredError{});
    data.train.targets.elements[3] = std::nan("");
    const Network network = network_of(tanh_layers(3, 1), data);
    const TrainingSettings settings{.epochs = 1, .batch = 2, .learning_rates = {0.1, 0.2}};
    Trainer trainer(*backend, network, data, settings);
    const auto before = trainer.weights(0);
    const auto report = trainer.run_epoch();
    for (const EpochScore& score : report->individuals) {
        EXPECT_EQ(score.skipped, 1);
        EXPECT_TRUE(std::isnan(score.train.loss));
        EXPECT_FALSE(score.best);
    }
    EXPECT_NE(trainer.weights(0), before);
    EXPECT_THAT(trainer.weights(0), Each(testing::Truly([](float w) { return std::isfinite(w); })));
    EXPECT_EQ(trainer.weights(0, Snapshot::best), before);
}

TEST(Trainer, APartWhoseTargetsAreAllIgnoredIsRefused) {
    const auto backend = make_cpu_backend({});
    DataSet data = data_of({{"type", "blobs"}, {"rows", 20}}, CrossEntropy{}, {.validation = 5});
    const Network network = network_of(tanh_layers(3, 1), data);
    std::ranges::fill(data.validation.targets.elements, -100.0);
    const auto make = [&] {
        Trainer(*backend, network, data, {.loss = CrossEntropy{}, .learning_rates = {0.1}});
    };
    EXPECT_THAT(make, testing::ThrowsMessage<ShapeError>(
                          HasSubstr("the validation samples [5, 2] with targets [5] cannot be "
                                    "learned (the loss ignores every target)")));
    data.validation.targets.elements[3] = 0.0;
    EXPECT_NO_THROW(make());
}

TEST(Trainer, TheLossOfASingleStepIsTakenAfterIt) {
    const auto backend = make_cpu_backend({});
    const DataSet data = data_of({{"type", "xor"}}, BinaryCrossEntropy{});
    Trainer trainer(*backend, network_of(tanh_layers(4, 1), data), data,
                    {.epochs = 4,
                     .batch = 4,
                     .loss = BinaryCrossEntropy{},
                     .optimizer = Sgd{},
                     .learning_rates = {30.0, 0.1}});
    trainer.run([&](const EpochReport& report) {
        const std::vector<Score> now = trainer.evaluate(Part::train);
        for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(report.individuals[i].watched, now[i].loss);
    });
    const std::vector<Score> best = trainer.evaluate(Part::train, Snapshot::best);
    for (std::size_t i = 0; i < 2; ++i)
        EXPECT_EQ(best[i].loss, trainer.best_loss(static_cast<std::int64_t>(i)));
}

TEST(Trainer, StopsEarlyWithTheBestWeights) {
    const auto backend = make_cpu_backend({});
    const DataSet data = data_of({{"type", "sine"}, {"rows", 40}, {"cycles", 0.5}},
                                 MeanSquaredError{}, {.validation = 10});
    Trainer trainer(*backend, network_of(tanh_layers(4, 1), data), data,
                    {.epochs = 100,
                     .batch = 10,
                     .learning_rates = {0.0, 0.01},
                     .early_stop = {.patience = 3, .min_change = 0.0}});
    std::vector<EpochReport> reports;
    trainer.run([&](const EpochReport& report) { reports.push_back(report); });
    // Without a rate nothing gets better: the first epoch is the best, three more are waited for.
    EXPECT_EQ(trainer.best_epoch(0), 1);
    std::int64_t last_best = 0;
    for (const EpochReport& report : reports)
        if (report.individuals[1].best) last_best = report.epoch;
    EXPECT_EQ(trainer.best_epoch(1), last_best);
    for (std::size_t epoch = 0; epoch < reports.size(); ++epoch)
        EXPECT_EQ(reports[epoch].individuals[0].stopped, epoch >= 3) << epoch;
    EXPECT_GT(reports.size(), 4U);
    EXPECT_TRUE(trainer.finished());
    double best = 1e30;
    for (const EpochReport& report : reports)
        if (!report.individuals[1].stopped || report.individuals[1].best)
            best = std::min(best, report.individuals[1].validation->loss);
    EXPECT_EQ(trainer.best_loss(1), best);
    EXPECT_EQ(trainer.evaluate(Part::validation, Snapshot::best)[1].loss, best);
}

TEST(Trainer, AGivenStartIsTheBestUntilAnEpochIsBetter) {
    const auto backend = make_cpu_backend({});
    const DataSet data = data_of({{"type", "spirals"}, {"rows", 60}}, CrossEntropy{});
    const Network network = network_of(tanh_layers(8, 1), data);
    TrainingSettings settings{.epochs = 20,
                              .batch = 10,
                              .loss = CrossEntropy{},
                              .learning_rates = {0.02},
                              .early_stop = {.patience = 20}};
    Trainer first(*backend, network, data, settings);
    first.run();
    settings.initial_weights = first.weights(0, Snapshot::best);
    // The rates do not decide where an individual starts: the last one stays there.
    settings.learning_rates = {0.02, 50.0, 0.0};
    Trainer second(*backend, network, data, settings);
    EXPECT_EQ(second.weights(2), settings.initial_weights);
    const double start = second.evaluate(Part::train)[1].loss;
    second.run();
    EXPECT_LT(second.best_loss(0), start);
    EXPECT_EQ(second.best_loss(1), start);
    EXPECT_EQ(second.best_epoch(1), 0);
    EXPECT_EQ(second.weights(1, Snapshot::best), settings.initial_weights);
    EXPECT_GT(second.evaluate(Part::train)[1].loss, start);
    EXPECT_EQ(second.weights(2, Snapshot::best), settings.initial_weights);
}

TEST(Trainer, TheEpochOfTheBestIsInTheStateUnlessItIsOfAnEarlierVersion) {
    const auto backend = make_cpu_backend({});
    const DataSet data =
        data_of({{"type", "sine"}, {"rows", 8}}, MeanSquaredError{}, {.validation = 2});
    const Network network = network_of(tanh_layers(2, 1), data);
    const TrainingSettings settings{.epochs = 3, .batch = 6, .learning_rates = {0.0, 1e-3}};
    Trainer first(*backend, network, data, settings);
    static_cast<void>(first.run_epoch());
    static_cast<void>(first.run_epoch());
    std::vector<std::byte> state = first.state();
    Trainer second(*backend, network, data, settings);
    second.restore(state, "state");
    EXPECT_EQ(second.best_epoch(0), 1);
    EXPECT_EQ(second.state(), state);
    std::vector<std::byte> of_none = state;
    of_none[of_none.size() - 16] = std::byte{3};
    Trainer damaged(*backend, network, data, settings);
    EXPECT_THAT([&] { damaged.restore(of_none, "state"); },
                testing::ThrowsMessage<InputError>(HasSubstr("is of no epoch")));
    state.resize(state.size() - 16);
    Trainer third(*backend, network, data, settings);
    third.restore(state, "state");
    EXPECT_EQ(third.best_epoch(0), std::nullopt);
    // It stays so where it is saved again.
    Trainer fourth(*backend, network, data, settings);
    fourth.restore(third.state(), "state");
    EXPECT_EQ(fourth.best_epoch(0), std::nullopt);
}

TEST(Trainer, SmallStepsAddUpToALeastChange) {
    const auto backend = make_cpu_backend({});
    const DataSet data = data_of({{"type", "sine"}, {"rows", 40}, {"cycles", 0.5}},
                                 MeanSquaredError{}, {.validation = 10});
    TrainingSettings settings{.epochs = 12, .batch = 10, .learning_rates = {1e-4}};
    const auto losses = [&] {
        std::vector<double> result;
        Trainer(*backend, network_of(tanh_layers(4, 1), data), data, settings)
            .run([&](const EpochReport& report) {
                result.push_back(report.individuals[0].validation->loss);
            });
        return result;
    };
    const std::vector<double> all = losses();
    double largest = 0.0;
    for (std::size_t epoch = 1; epoch < all.size(); ++epoch)
        largest = std::max(largest, all[epoch - 1] - all[epoch]);
    settings.early_stop = {.patience = 4, .min_change = 1.5 * largest};
    ASSERT_GT(all[0] - all[4], settings.early_stop.min_change);
    EXPECT_EQ(losses(), all);
}

}  // namespace
}  // namespace cambrian::trainer_best_test
