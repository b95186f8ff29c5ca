#include "cambrian/engine/train/trainer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/tests/engine/train/trainer_support.hpp"

// What trainings learn, whatever else is trained beside it.
namespace cambrian::trainer_test {
namespace {

using nlohmann::json;
using test::data_of;
using test::network_of;
using test::tanh_layers;
using test::trained;
using testing::HasSubstr;

TEST(Trainer, LearnsExclusiveOr) {
    const auto backend = make_cpu_backend({});
    const DataSet data = data_of({{"type", "xor"}}, BinaryCrossEntropy{});
    Trainer trainer(
        *backend, network_of(tanh_layers(8, 1), data), data,
        {.epochs = 300, .batch = 4, .loss = BinaryCrossEntropy{}, .learning_rates = {0.03, 0.05}});
    trainer.run();
    for (const Score& score : trainer.evaluate(Part::train)) {
        EXPECT_EQ(score.accuracy, 1.0);
        EXPECT_LT(score.loss, 0.05);
    }
}

TEST(Trainer, LearnsTwoSpirals) {
    const auto backend = make_cpu_backend({});
    const DataSet data =
        data_of({{"type", "spirals"}, {"rows", 300}}, CrossEntropy{}, {.validation = 0.2});
    EXPECT_EQ(data.train.rows(), 240);
    Trainer trainer(*backend, network_of(tanh_layers(32, 2), data), data,
                    {.epochs = 150,
                     .batch = 32,
                     .loss = CrossEntropy{},
                     .schedule = {OneCycleRate{}},
                     .learning_rates = {0.02}});
    trainer.run();
    EXPECT_GE(trainer.evaluate(Part::train)[0].accuracy, 0.99);
    EXPECT_GE(trainer.evaluate(Part::validation)[0].accuracy, 0.95);
}

TEST(Trainer, LearnsASineWithEveryOptimizerAndLossOfNumbers) {
    const auto backend = make_cpu_backend({});
    const json source{{"type", "sine"}, {"rows", 100}, {"cycles", 1}};
    const auto error_after = [&](const Optimizer& optimizer, double rate, const Loss& loss) {
        const DataSet data = data_of(source, loss);
        Trainer trainer(*backend, network_of(tanh_layers(16, 1), data), data,
                        {.epochs = 400,
                         .batch = 20,
                         .loss = loss,
                         .optimizer = optimizer,
                         .schedule = {CosineRate{}, 5},
                         .learning_rates = {rate},
                         .clip_norm = 1.0});
        trainer.run();
        return trainer.evaluate(Part::train)[0].loss;
    };
    EXPECT_LT(error_after(Adam{}, 0.03, MeanSquaredError{}), 0.005);
    EXPECT_LT(error_after(Adam{.weight_decay = 1e-4, .decoupled = true}, 0.03, HuberLoss{}), 0.005);
    EXPECT_LT(error_after(RmsProp{}, 0.01, MeanSquaredError{}), 0.01);
    EXPECT_LT(error_after(Sgd{.momentum = 0.9, .nesterov = true}, 0.1, MeanSquaredError{}), 0.01);
    EXPECT_LT(error_after(Adam{}, 0.03, MeanAbsoluteError{}), 0.05);
}

TEST(Trainer, LearnsToRemember) {
    const auto backend = make_cpu_backend({});
    const DataSet data =
        data_of({{"type", "delay"}, {"rows", 64}, {"steps", 8}, {"delay", 2}}, MeanSquaredError{});
    Trainer trainer(*backend,
                    network_of({{{"type", "rnn"}, {"hidden", 12}}, {{"type", "dense"}}}, data),
                    data, {.epochs = 60, .batch = 16, .learning_rates = {0.02}});
    trainer.run();
    EXPECT_LT(trainer.evaluate(Part::train)[0].loss, 0.02);
}

TEST(Trainer, AnswersForAWholeSequenceAtItsLastStep) {
    const auto backend = make_cpu_backend({});
    DataSet data = data_of({{"type", "delay"}, {"rows", 64}, {"steps", 5}}, MeanSquaredError{});
    // The class of a sequence: whether its first and last number are equal.
    Tensor classes(ValueType::integer, Shape{64});
    for (std::size_t row = 0; row < 64; ++row)
        classes.elements[row] =
            data.train.inputs.elements[5 * row] == data.train.inputs.elements[5 * row + 4] ? 1 : 0;
    data.train.targets = classes;
    data.outputs = 2;
    Trainer trainer(
        *backend, network_of({{{"type", "lstm"}, {"hidden", 12}}, {{"type", "dense"}}}, data), data,
        {.epochs = 150,
         .batch = 16,
         .loss = CrossEntropy{},
         .learning_rates = {0.02},
         .clip_norm = 1.0});
    trainer.run();
    EXPECT_EQ(trainer.evaluate(Part::train)[0].accuracy, 1.0);
}

TEST(Trainer, AnIndividualDoesNotDependOnTheOthersOrOnThreads) {
    const DataSet data =
        data_of({{"type", "blobs"}, {"rows", 50}}, CrossEntropy{}, {.validation = 10});
    const Network network = network_of(tanh_layers(5, 1), data);
    TrainingSettings settings{.epochs = 4,
                              .batch = 16,
                              .loss = CrossEntropy{},
                              .schedule = {PlateauRate{.patience = 0}},
                              .learning_rates = {0.1, 0.01, 3.0, 0.0, 0.5},
                              .clip_norm = 0.5,
                              .early_stop = {.patience = 2}};
    const auto one_thread = make_cpu_backend({.threads = 1});
    const auto together = trained(*one_thread, network, data, settings);
    const auto three_threads = make_cpu_backend({.threads = 3});
    EXPECT_EQ(trained(*three_threads, network, data, settings), together);

    const std::vector<double> rates = settings.learning_rates;
    for (std::size_t i = 0; i < rates.size(); ++i) {
        settings.learning_rates = {rates[i]};
        settings.first_individual = i;
        const auto alone = trained(*one_thread, network, data, settings);
        EXPECT_EQ(alone[0], together[2 * i]) << i;
        EXPECT_EQ(alone[1], together[2 * i + 1]) << i;
    }
}

TEST(Trainer, StatisticsRunAndNoiseBelongsToAnIndividual) {
    const DataSet data = data_of({{"type", "blobs"}, {"rows", 60}}, CrossEntropy{});
    const json layers{{{"type", "dense"}, {"out", 6}},
                      {{"type", "batch_norm"}},
                      {{"type", "dropout"}, {"rate", 0.3}},
                      {{"type", "dense"}}};
    const Network network = network_of(layers, data);
    TrainingSettings settings{.epochs = 30,
                              .batch = 16,
                              .loss = CrossEntropy{},
                              .optimizer = Adam{.weight_decay = 0.01, .decoupled = true},
                              .learning_rates = {0.02, 0.02, 0.0}};
    const auto backend = make_cpu_backend({});
    Trainer trainer(*backend, network, data, settings);
    const std::vector<float> start = trainer.weights(2);
    trainer.run();
    EXPECT_GE(trainer.evaluate(Part::train)[0].accuracy, 0.97);
    EXPECT_NE(trainer.weights(0), trainer.weights(1));
    // Without a rate only the statistics move, toward what the first layer gives.
    const std::vector<float> end = trainer.weights(2);
    for (const WeightRange& range : network.weights())
        for (std::int64_t i = range.offset; i < range.offset + range.count; ++i)
            EXPECT_EQ(end[static_cast<std::size_t>(i)] != start[static_cast<std::size_t>(i)],
                      range.parameter.buffer)
                << i;

    settings.learning_rates = {0.02};
    settings.first_individual = 1;
    EXPECT_EQ(trained(*backend, network, data, settings)[0], trainer.weights(1));
}

TEST(Trainer, TheCpuFollowsTheReference) {
    const DataSet data = data_of({{"type", "blobs"}, {"rows", 30}}, CrossEntropy{});
    const Network network = network_of(tanh_layers(4, 1), data);
    const TrainingSettings settings{
        .epochs = 3, .batch = 8, .loss = CrossEntropy{}, .learning_rates = {0.01, 0.1}};
    const auto cpu = make_cpu_backend({});
    const auto reference = make_reference_backend(Precision::f64);
    const auto actual = trained(*cpu, network, data, settings);
    const auto expected = trained(*reference, network, data, settings);
    for (std::size_t i = 0; i < actual.size(); ++i)
        EXPECT_THAT(actual[i], testing::Pointwise(testing::FloatNear(2e-4F), expected[i]));
}

TEST(Trainer, EveryStepHasARate) {
    const auto backend = make_cpu_backend({});
    const DataSet data = data_of({{"type", "sine"}, {"rows", 8}}, MeanSquaredError{});
    for (const Schedule& schedule : {Schedule{LinearRate{}}, Schedule{CosineRate{}},
                                     Schedule{LinearRate{}, 1.0}, Schedule{OneCycleRate{}}}) {
        Trainer trainer(*backend, network_of(tanh_layers(3, 1), data), data,
                        {.epochs = 2, .batch = 8, .schedule = schedule, .learning_rates = {0.1}});
        while (!trainer.finished()) {
            const auto before = trainer.weights(0);
            const auto report = trainer.run_epoch();
            EXPECT_GT(report->individuals[0].learning_rate, 0.0);
            EXPECT_NE(trainer.weights(0), before);
        }
    }
}

TEST(Trainer, AnEpochCanBeLeft) {
    const auto backend = make_cpu_backend({});
    const DataSet data = data_of({{"type", "xor"}}, MeanSquaredError{});
    Trainer trainer(*backend, network_of(tanh_layers(2, 1), data), data, {.batch = 1});
    int steps = 0;
    EXPECT_FALSE(trainer.run_epoch([&] { return ++steps < 3; }).has_value());
    EXPECT_EQ(steps, 3);
    EXPECT_EQ(trainer.epochs_done(), 0);
    EXPECT_TRUE(trainer.run_epoch([&] { return ++steps < 100; }).has_value());
    EXPECT_EQ(steps, 3 + 2) << "the other two";
}

TEST(Trainer, RefusesWhatDoesNotFit) {
    const auto backend = make_cpu_backend({});
    const DataSet data = data_of({{"type", "sine"}}, MeanSquaredError{});
    const Network network = network_of(tanh_layers(2, 1), data);
    const auto refusal = [&](const TrainingSettings& settings, const DataSet& used) {
        try {
            const Trainer trainer(*backend, network, used, settings);
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string("accepted");
    };
    EXPECT_THAT(refusal({.epochs = 0}, data), HasSubstr("training.epochs is 0"));
    EXPECT_THAT(refusal({.batch = 0}, data), HasSubstr("training.batch is 0"));
    EXPECT_THAT(refusal({.learning_rates = {}}, data),
                HasSubstr("training.learning_rate is empty"));
    EXPECT_THAT(refusal({.learning_rates = {-1.0}}, data),
                HasSubstr("training.learning_rate is -1"));
    EXPECT_THAT(refusal({.clip_norm = 0.0}, data), HasSubstr("training.clip_norm is 0"));
    EXPECT_THAT(refusal({}, DataSet{}), HasSubstr("there are no samples"));
    EXPECT_THAT(refusal({.loss = CrossEntropy{}}, data), HasSubstr("class"));
    const DataSet wide = data_of({{"type", "blobs"}}, CrossEntropy{});
    EXPECT_THAT(refusal({.loss = CrossEntropy{}}, wide), HasSubstr("the network reads 1 features"));
}

}  // namespace
}  // namespace cambrian::trainer_test
