#include "cambrian/engine/train/targets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/tests/engine/train/targets_support.hpp"

// What trainings by targets reach, keep and refuse.
namespace cambrian::targets_support {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Targets, OfLinksAndEmptyResidualsReachAllThatIsRead) {
    // Slot 2 adds what slot 1 took; slots 0 and 1 are read twice.
    const json network{{"layers",
                        {{{"type", "dense"}, {"out", 3}, {"activation", "tanh"}},
                         {{"type", "dense"}, {"out", 3}, {"activation", "tanh"}},
                         {{"type", "residual"}},
                         {{"type", "dense"}, {"out", 4}, {"activation", "tanh"}},
                         {{"type", "dense"}}}},
                       {"links", {{{"from", 0}, {"to", 3}}, {{"from", 1}, {"to", "head"}}}}};
    const Network built = network_of(network, 2, 1);
    const std::vector<Inverse> inverses = inverses_of(built);
    ASSERT_EQ(inverses.size(), 3U);
    EXPECT_EQ(inverses[0].read, 3);
    EXPECT_EQ(inverses[1].read, 6) << "what slot 1 gives and what it took";
    EXPECT_EQ(inverses[2].read, 6) << "what slot 2 gives, and slot 0 by the link";
    EXPECT_EQ(inverses[2].given, 4);
    const auto backend = make_cpu_backend({});
    TrainingSettings settings = golden_settings(3);
    settings.targets.step = 0.1;
    const DataSet data = exclusive_or();
    Trainer trainer(*backend, built, data, settings);
    const std::vector<float> start = trainer.weights(0);
    const std::vector<SlotAim> aims = trainer.run_epoch()->individuals[0].aims;
    ASSERT_EQ(aims.size(), 4U);
    for (const SlotAim& aim : aims) {
        EXPECT_GT(aim.gap, 0.0) << aim.slot;
        EXPECT_GT(aim.budget, 0.5) << aim.slot;
        EXPECT_LE(aim.budget, 1.0 + 1e-6) << aim.slot;
    }
    trainer.run();
    const std::vector<float> end = trainer.weights(0);
    for (std::size_t i = 0; i < end.size(); ++i) EXPECT_NE(end[i], start[i]) << i;
}

TEST(Targets, TheAgreementOfLargeValuesIsThatOfSmallOnes) {
    const json layers{{{"type", "dense"}, {"out", 3}}, {{"type", "dense"}}};
    const Network network = network_of({{"layers", layers}}, 2, 1);
    const auto backend = make_cpu_backend({});
    TrainingSettings settings = golden_settings(1);
    settings.method = chain_rule;
    settings.learning_rates = {0.0};
    const auto agreement = [&](double scale) {
        DataSet data = exclusive_or();
        for (Tensor* values : {&data.train.inputs, &data.train.targets})
            for (double& value : values->elements) value *= scale;
        Trainer trainer(*backend, network, data, settings);
        return trainer.run_epoch()->individuals[0].aims.at(0).budget;
    };
    const double small = agreement(1.0);
    EXPECT_NE(small, 0.5);
    EXPECT_NEAR(agreement(0x1p33), small, 1e-6);
    EXPECT_NEAR(agreement(0x1p-40), small, 1e-6);
}

TEST(Targets, ASlotThatIsPassedByHandsItsTargetOn) {
    json layers = tanh_chain({3, 3, 3});
    json shorter = tanh_chain({3, 3});
    layers[1]["enabled"] = false;
    const auto backend = make_reference_backend(Precision::f64);
    const Network with = network_of({{"layers", layers}}, 2, 1);
    const Network without = network_of({{"layers", shorter}}, 2, 1);
    ASSERT_EQ(inverses_of(with).size(), 1U);
    // Both start from the same weights but for the slot between, which stays as it is.
    TrainingSettings settings = golden_settings(3);
    const std::vector<float> short_start =
        Trainer(*backend, without, exclusive_or(), settings).weights(0);
    std::vector<float> start(short_start.begin(), short_start.begin() + 9);
    start.insert(start.end(), 12, 0.25F);
    start.insert(start.end(), short_start.begin() + 9, short_start.end());
    const std::vector<float> expected = after(*backend, without, exclusive_or(), settings);
    settings.initial_weights = start;
    const std::vector<float> actual = after(*backend, with, exclusive_or(), settings);
    for (std::size_t i = 0; i < actual.size(); ++i)
        if (i < 9 || i >= 21)
            EXPECT_EQ(actual[i], expected[i < 9 ? i : i - 12]) << i;
        else
            EXPECT_EQ(actual[i], 0.25F) << i;
}

TEST(Targets, AnIndividualDoesNotDependOnTheOthersOrOnThreads) {
    const json dropping{{{"type", "dense"}, {"out", 5}, {"activation", "tanh"}},
                        {{"type", "dropout"}, {"rate", 0.2}},
                        {{"type", "dense"}, {"out", 4}, {"activation", "relu"}},
                        {{"type", "dense"}}};
    for (const bool mesh : {false, true}) {
        const Network network =
            network_of({{"layers", dropping}, {"mode", mesh ? "mesh" : "chain"}}, 3, 2);
        const DataSet data = data_of(20, mesh ? 4 : 0, 3, 2);
        TrainingSettings settings{.epochs = 3,
                                  .batch = 8,
                                  .learning_rates = {0.1, 0.01, 0.0, 0.5},
                                  .clip_norm = 0.5,
                                  .method = difference};
        const auto one_thread = make_cpu_backend({.threads = 1});
        const auto three_threads = make_cpu_backend({.threads = 3});
        Trainer together(*one_thread, network, data, settings);
        together.run();
        Trainer threaded(*three_threads, network, data, settings);
        threaded.run();
        const std::vector<double> rates = settings.learning_rates;
        for (std::size_t i = 0; i < rates.size(); ++i) {
            const std::vector<float> weights = together.weights(static_cast<std::int64_t>(i));
            EXPECT_EQ(threaded.weights(static_cast<std::int64_t>(i)), weights) << i;
            settings.learning_rates = {rates[i]};
            settings.first_individual = i;
            EXPECT_EQ(after(*one_thread, network, data, settings), weights) << i;
        }
        EXPECT_NE(together.weights(0), together.weights(1));
    }
}

TEST(Targets, ATrainingGoesOnInEveryBitWhereItWas) {
    const auto backend = make_cpu_backend({});
    const Network network = network_of({{"layers", tanh_chain({5, 4, 5})}}, 3, 2);
    const DataSet data = data_of(20, 0, 3, 2);
    const TrainingSettings settings{
        .epochs = 4, .batch = 8, .learning_rates = {0.1, 0.01}, .method = difference};
    Trainer whole(*backend, network, data, settings);
    std::vector<EpochReport> reports;
    whole.run([&](const EpochReport& report) { reports.push_back(report); });
    for (const int stop : {0, 1, 4, 7}) {
        Trainer first(*backend, network, data, settings);
        int steps = 0;
        while (const auto report = first.run_epoch([&] { return steps++ < stop; }))
            if (steps > stop) break;
        Trainer second(*backend, network, data, settings);
        second.restore(first.state(), "memory");
        std::vector<EpochReport> rest;
        second.run([&](const EpochReport& report) { rest.push_back(report); });
        for (std::int64_t i = 0; i < 2; ++i) {
            EXPECT_EQ(second.weights(i), whole.weights(i)) << stop;
            const auto at = static_cast<std::size_t>(i);
            for (std::size_t slot = 0; slot < 3; ++slot) {
                EXPECT_EQ(rest.back().individuals[at].aims[slot].gap,
                          reports.back().individuals[at].aims[slot].gap);
                EXPECT_EQ(rest.front().individuals[at].aims[slot].budget,
                          reports[reports.size() - rest.size()].individuals[at].aims[slot].budget);
            }
        }
        EXPECT_EQ(second.state(), whole.state()) << stop;
    }
}

TEST(Targets, BothMethodsLearnExclusiveOrWithThreeHiddenLayersFromTwentyStarts) {
    const auto backend = make_cpu_backend({});
    DataSet data = exclusive_or();
    const json layers = tanh_chain({8, 8, 8});
    for (const TrainingMethod method : {chain_rule, difference})
        for (const bool mesh : {false, true}) {
            const Network network =
                network_of({{"layers", layers}, {"mode", mesh ? "mesh" : "chain"}}, 2, 1);
            TrainingSettings settings{.epochs = 300,
                                      .batch = 4,
                                      .loss = BinaryCrossEntropy{},
                                      .learning_rates = std::vector<double>(20, 0.01),
                                      .method = method};
            if (method == difference) settings.targets.inverse_learning_rate = 0.01;
            const DataSet seen = mesh ? shown_for(data, 3) : data;
            Trainer trainer(*backend, network, seen, settings);
            trainer.run();
            for (const Score& score : trainer.evaluate(Part::train)) {
                EXPECT_EQ(score.accuracy, 1.0) << name(method) << ' ' << mesh;
                EXPECT_LT(score.loss, 0.3) << name(method) << ' ' << mesh;
            }
        }
}

TEST(Targets, WhatIsFrozenStaysWithEveryMethod) {
    const auto backend = make_cpu_backend({});
    const json described{{"layers",
                          {{{"type", "dense"}, {"out", 4}, {"activation", "tanh"}},
                           {{"type", "batch_norm"}},
                           {{"type", "dense"}, {"out", 3}},
                           {{"type", "dense"}}}},
                         {"links", {{{"from", 0}, {"to", 2}}, {{"from", 0}, {"to", "head"}}}}};
    const Network network = network_of(described, 3, 2);
    const DataSet data = data_of(16, 0, 3, 2);
    const auto moved = [&](TrainingMethod method, std::vector<std::string> frozen) {
        const TrainingSettings settings{.epochs = 3,
                                        .batch = 8,
                                        .optimizer = Adam{.weight_decay = 0.1, .decoupled = true},
                                        .learning_rates = {0.01},
                                        .method = method,
                                        .frozen = std::move(frozen)};
        Trainer trainer(*backend, network, data, settings);
        const std::vector<float> start = trainer.weights(0);
        trainer.run();
        const std::vector<float> end = trainer.weights(0);
        std::vector<std::string> names;
        for (std::size_t range = 0; range < network.weights().size(); ++range) {
            const WeightRange& weights = network.weights()[range];
            for (std::int64_t i = weights.offset; i < weights.offset + weights.count; ++i)
                if (start[static_cast<std::size_t>(i)] != end[static_cast<std::size_t>(i)]) {
                    names.push_back(network.weight_name(range));
                    break;
                }
        }
        return names;
    };
    for (const TrainingMethod method : {TrainingMethod::gradient, chain_rule, difference}) {
        EXPECT_THAT(moved(method, {"hidden"}),
                    ElementsAre("head.weight", "head.bias", "link.1.projection"))
            << name(method);
        EXPECT_THAT(moved(method, {"slot.1", "head", "link.1", "slot.2.bias"}),
                    ElementsAre("slot.0.weight", "slot.0.bias", "slot.2.weight", "link.0.gain"))
            << name(method);
    }
}

TEST(Targets, RefuseWhatTheyCannotDo) {
    const auto backend = make_cpu_backend({});
    const auto refusal = [&](const json& network, const DataSet& data, TrainingSettings settings) {
        try {
            const Trainer trainer(*backend, network_of(network, 3, 2), data, std::move(settings));
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string("accepted");
    };
    const json plain{{"layers", tanh_chain({3, 3})}};
    json mesh = plain;
    mesh["mode"] = "mesh";
    const DataSet rows = data_of(8, 0, 3, 2);
    EXPECT_EQ(refusal(plain, rows, {.method = difference}), "accepted");
    EXPECT_THAT(refusal(mesh, rows, {.method = difference}), HasSubstr("rows have no time"));
    EXPECT_THAT(refusal(mesh, data_of(8, 1000, 3, 2), {.method = chain_rule}),
                HasSubstr("training.method needs the network unrolled over 1000 steps"));
    EXPECT_EQ(refusal(plain, data_of(8, 1000, 3, 2), {.method = chain_rule}), "accepted");
    const json norm{{"type", "batch_norm"}};
    mesh["layers"].insert(mesh["layers"].begin() + 1, norm);
    EXPECT_THAT(refusal(mesh, data_of(8, 4, 3, 2), {.method = difference}),
                HasSubstr("a batch_norm cannot be trained in a network that reads its previous"));
    EXPECT_THAT(refusal(mesh, data_of(8, 4, 3, 2), {}),
                HasSubstr("(a backward link or mode mesh makes it so"));
    EXPECT_THAT(refusal(plain, rows, {.method = chain_rule, .targets = {.step = 0.0}}),
                HasSubstr("training.targets.step is 0"));
    EXPECT_THAT(
        refusal(plain, rows, {.method = difference, .targets = {.inverse_learning_rate = -1.0}}),
        HasSubstr("training.targets.inverse_learning_rate is -1"));
    EXPECT_THAT(refusal(plain, rows, {.method = difference, .targets = {.inverse_noise = -1.0}}),
                HasSubstr("training.targets.inverse_noise is -1"));
    EXPECT_EQ(refusal(plain, rows, {.method = chain_rule, .targets = {.step = 0.2}}), "accepted");
    EXPECT_THAT(refusal(plain, rows, {.targets = {.step = 0.2}}),
                HasSubstr("the method gradient has no targets"));
    EXPECT_THAT(refusal(plain, rows, {.frozen = {"slot.7"}}),
                HasSubstr("training.frozen names \"slot.7\""));
    EXPECT_THAT(refusal(plain, rows, {.frozen = {"hidden", "head"}}),
                HasSubstr("nothing is left to learn"));
}

}  // namespace
}  // namespace cambrian::targets_support
