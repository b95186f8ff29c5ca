#include "cambrian/engine/train/trainer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/tests/engine/train/trainer_support.hpp"

namespace cambrian::trainer_test {
namespace {

using nlohmann::json;
using test::data_of;
using test::network_of;
using test::tanh_layers;
using testing::Each;
using testing::HasSubstr;

/// Every weight of every individual after some training.
std::vector<std::vector<float>> trained(Backend& backend, const Network& network,
                                        const DataSet& data, const TrainingSettings& settings) {
    Trainer trainer(backend, network, data, settings);
    trainer.run();
    std::vector<std::vector<float>> result;
    for (std::int64_t i = 0; i < trainer.individuals(); ++i) {
        result.push_back(trainer.weights(i));
        result.push_back(trainer.weights(i, Snapshot::best));
    }
    return result;
}

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

TEST(Trainer, OnlyMatricesDecay) {
    const auto backend = make_cpu_backend({});
    // Zeros give zeros, which are right: no weight has a gradient.
    DataSet data = data_of({{"type", "sine"}, {"rows", 8}}, MeanSquaredError{});
    data.train.inputs = Tensor(ValueType::real, {4, 3, 2});
    data.train.targets = Tensor(ValueType::real, {4, 3, 1});
    data.outputs = 1;
    const Network network = network_of({{{"type", "dense"}, {"out", 4}},
                                        {{"type", "mamba"}},
                                        {{"type", "rms_norm"}},
                                        {{"type", "layer_norm"}},
                                        {{"type", "dense"}}},
                                       data);
    for (const Optimizer& optimizer :
         {Optimizer(Adam{.weight_decay = 0.5, .decoupled = true}),
          Optimizer(Adam{.weight_decay = 0.5}), Optimizer(Sgd{.weight_decay = 0.5}),
          Optimizer(RmsProp{.weight_decay = 0.5})}) {
        Trainer trainer(
            *backend, network, data,
            {.epochs = 1, .batch = 2, .optimizer = optimizer, .learning_rates = {1e-5}});
        const std::vector<float> start = trainer.weights(0);
        trainer.run();
        const std::vector<float> end = trainer.weights(0);
        const std::set<std::string> kept{"bias",    "gain",  "norm.gain", "conv_bias",
                                         "dt_bias", "a_log", "skip"};
        for (const WeightRange& range : network.weights())
            for (std::int64_t i = range.offset; i < range.offset + range.count; ++i) {
                const float before = start[static_cast<std::size_t>(i)];
                const float after = end[static_cast<std::size_t>(i)];
                if (kept.contains(range.parameter.name))
                    EXPECT_EQ(after, before) << name(optimizer) << ' ' << range.parameter.name;
                else
                    EXPECT_LT(std::abs(after), std::abs(before))
                        << name(optimizer) << ' ' << range.parameter.name;
            }
    }
}

/// Names of the parameters that a step without gradients leaves as they are.
std::set<std::string> kept_by_adamw(const Network& network, const DataSet& data,
                                    std::vector<std::string> undecayed) {
    const auto backend = make_cpu_backend({});
    Trainer trainer(*backend, network, data,
                    {.epochs = 1,
                     .batch = 2,
                     .optimizer = Adam{.weight_decay = 0.5, .decoupled = true},
                     .learning_rates = {1e-5},
                     .undecayed = std::move(undecayed)});
    const std::vector<float> start = trainer.weights(0);
    trainer.run();
    const std::vector<float> end = trainer.weights(0);
    std::set<std::string> kept;
    for (std::size_t i = 0; i < network.weights().size(); ++i) {
        const WeightRange& range = network.weights()[i];
        const auto first = start.begin() + range.offset;
        if (std::equal(first, first + range.count, end.begin() + range.offset))
            kept.insert(network.weight_name(i));
    }
    return kept;
}

TEST(Trainer, DecayLeavesWhatAConfigNames) {
    // Zeros give zeros, which are right: no weight has a gradient.
    DataSet data = data_of({{"type", "sine"}, {"rows", 8}}, MeanSquaredError{});
    data.train.inputs = Tensor(ValueType::real, {4, 2});
    data.train.targets = Tensor(ValueType::real, {4, 1});
    data.outputs = 1;
    const Network network = network_of({{{"type", "dense"}, {"out", 4}, {"decay", false}},
                                        {{"type", "swiglu"}, {"bias", false}},
                                        {{"type", "dense"}, {"bias", false}}},
                                       data);
    const std::set<std::string> layer{"slot.0.weight", "slot.0.bias"};
    const auto with = [&](std::set<std::string> more) {
        more.insert(layer.begin(), layer.end());
        return more;
    };
    EXPECT_EQ(kept_by_adamw(network, data, {}), layer);
    EXPECT_EQ(kept_by_adamw(network, data, {"head.weight"}), with({"head.weight"}));
    EXPECT_EQ(kept_by_adamw(network, data, {"weight"}), with({"head.weight"}));
    EXPECT_EQ(kept_by_adamw(network, data, {"*_weight"}),
              with({"slot.1.gate_weight", "slot.1.up_weight", "slot.1.down_weight"}));
    EXPECT_EQ(kept_by_adamw(network, data, {"slot.1.*", "head.*"}).size(), 6U);
    EXPECT_THAT([&] { kept_by_adamw(network, data, {"wieght"}); },
                testing::ThrowsMessage<ConfigError>(
                    HasSubstr("training.undecayed has \"wieght\" (no parameter of the network is "
                              "named so, the first is \"slot.0.weight\") use names")));
}

TEST(Trainer, DisabledSlotsStayAsTheyAre) {
    const auto backend = make_cpu_backend({});
    // The last batch of an epoch is a single row, of which a batch_norm could not learn.
    const DataSet data = data_of({{"type", "blobs"}, {"rows", 33}}, CrossEntropy{});
    const Network network = network_of({{{"type", "dense"}, {"out", 4}},
                                        {{"type", "batch_norm"}, {"enabled", false}},
                                        {{"type", "dropout"}, {"enabled", false}},
                                        {{"type", "dense"}, {"out", 4}, {"enabled", false}},
                                        {{"type", "dense"}}},
                                       data);
    Trainer trainer(*backend, network, data,
                    {.epochs = 2,
                     .batch = 8,
                     .loss = CrossEntropy{},
                     .optimizer = Adam{.weight_decay = 0.5, .decoupled = true},
                     .learning_rates = {0.1}});
    const std::vector<float> start = trainer.weights(0);
    trainer.run();
    const std::vector<float> end = trainer.weights(0);
    for (const WeightRange& range : network.weights()) {
        const auto weights = [&](const std::vector<float>& all) {
            const auto begin = all.begin() + range.offset;
            return std::vector<float>(begin, begin + range.count);
        };
        const bool disabled = range.slot == 1 || range.slot == 3;
        EXPECT_EQ(weights(start) == weights(end), disabled) << range.slot << range.parameter.name;
    }
}

TEST(Trainer, AWeightThatOthersShareLearnsThoughItsSlotIsDisabled) {
    const auto backend = make_cpu_backend({});
    const DataSet data = data_of({{"type", "blobs"}, {"rows", 32}}, CrossEntropy{});
    const Network network = network_of({{{"type", "dense"}, {"out", 4}},
                                        {{"type", "dense"}, {"out", 4}, {"enabled", false}},
                                        {{"type", "dense"}, {"out", 4}, {"tied", "slot.1.weight"}},
                                        {{"type", "dense"}}},
                                       data);
    Trainer trainer(*backend, network, data,
                    {.epochs = 1, .loss = CrossEntropy{}, .learning_rates = {0.1}});
    const std::vector<float> start = trainer.weights(0);
    trainer.run();
    const std::vector<float> end = trainer.weights(0);
    for (std::size_t i = 0; i < network.weights().size(); ++i) {
        const WeightRange& range = network.weights()[i];
        const bool learnt =
            !std::equal(start.begin() + range.offset, start.begin() + range.offset + range.count,
                        end.begin() + range.offset);
        EXPECT_EQ(learnt, network.weight_name(i) != "slot.1.bias") << network.weight_name(i);
    }
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
    EXPECT_EQ(second.weights(1, Snapshot::best), settings.initial_weights);
    EXPECT_GT(second.evaluate(Part::train)[1].loss, start);
    EXPECT_EQ(second.weights(2, Snapshot::best), settings.initial_weights);
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

/// Keeps what it is told.
class Keeper final : public Observer {
  public:
    void observe(const Observation& observation) override { all.push_back(observation); }
    std::vector<Observation> all;
};

TEST(Trainer, LearnsTheSameInEveryBitWhenItIsWatched) {
    const auto backend = make_cpu_backend({});
    const DataSet data = data_of({{"type", "blobs"}, {"rows", 50}}, CrossEntropy{});
    const json layers = {{{"type", "dense"}, {"out", 6}, {"activation", "tanh"}},
                         {{"type", "batch_norm"}},
                         {{"type", "dropout"}, {"rate", 0.25}},
                         {{"type", "dense"}}};
    const Network network = network_of(layers, data);
    const TrainingSettings settings{
        .epochs = 3, .batch = 16, .loss = CrossEntropy{}, .learning_rates = {0.01, 0.1, 0.03}};
    const auto plain = trained(*backend, network, data, settings);
    for (const std::int64_t every : {1, 3}) {
        Keeper keeper;
        Trainer trainer(*backend, network, data, settings);
        trainer.watch(every, keeper);
        trainer.run();
        for (std::size_t i = 0; i < 3; ++i)
            EXPECT_EQ(trainer.weights(static_cast<std::int64_t>(i)), plain[2 * i]);
        // Of 12 steps, the last of every epoch on 2 rows: 4 places, both ways, 3 individuals.
        ASSERT_EQ(keeper.all.size(), static_cast<std::size_t>(12 / every * 4 * 2 * 3));
        EXPECT_EQ(keeper.all.front().step, every);
        EXPECT_EQ(keeper.all.back().step, 12);
        EXPECT_EQ(keeper.all.back().count, 2 * 3);
        for (const Observation& observation : keeper.all) EXPECT_EQ(observation.not_finite, 0);
        // A quarter of the elements is dropped on the way to the head.
        const Observation& dropped = keeper.all[4];
        EXPECT_EQ(dropped.layer, "dropout");
        EXPECT_GT(dropped.active, 0.6);
        EXPECT_LT(dropped.active, 0.9);
    }
}

TEST(Trainer, IndividualsAreWatchedAsIfAlone) {
    const auto backend = make_cpu_backend({});
    const DataSet data = data_of({{"type", "sine"}, {"rows", 20}}, MeanSquaredError{});
    const Network network = network_of(tanh_layers(5, 1), data);
    TrainingSettings settings{.epochs = 2, .batch = 8, .learning_rates = {0.01, 0.1}};
    Keeper together;
    Trainer both(*backend, network, data, settings);
    both.watch(2, together);
    both.run();
    settings.learning_rates = {0.1};
    settings.first_individual = 1;
    Keeper alone;
    Trainer one(*backend, network, data, settings);
    one.watch(2, alone);
    one.run();
    std::erase_if(together.all, [](const Observation& o) { return o.individual == 0; });
    for (Observation& observation : together.all) observation.individual = 0;
    EXPECT_EQ(together.all, alone.all);
    EXPECT_FALSE(alone.all.empty());
}

}  // namespace
}  // namespace cambrian::trainer_test
