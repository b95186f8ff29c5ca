#include "cambrian/engine/train/trainer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/tests/engine/train/trainer_support.hpp"

// Which weights a training changes.
namespace cambrian::trainer_weights_test {
namespace {

using test::data_of;
using test::network_of;
using testing::HasSubstr;

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

}  // namespace
}  // namespace cambrian::trainer_weights_test
