#include "cambrian/engine/train/trainer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/layers/any_layer.hpp"
#include "cambrian/tests/engine/train/trainer_support.hpp"
#include "cambrian/tests/support/plugin_layer.hpp"

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

/// A layer of a plug-in that adds its running statistics, and says in training that the first
/// becomes 5 and the second 7: in their order, in the other, of the second alone, or not at all.
struct Tally : test::PluginLayer<Tally> {
    static constexpr std::string_view name = "tally";

    std::int64_t features = 0;
    std::string says{};
    static constexpr auto fields =
        FieldTable{Field{"features", &Tally::features}, Field{"says", &Tally::says}};

    std::vector<ParameterSpec> parameters() const {
        const Shape shape{features};
        return {{.name = "five", .shape = shape, .initial = Initial::zeros, .buffer = true},
                {.name = "gain", .shape = shape, .initial = Initial::ones},
                {.name = "seven", .shape = shape, .initial = Initial::zeros, .buffer = true}};
    }
    Var build(Var x, const LayerOperands& operands) const {
        const auto& parameters = operands.parameters;
        const auto update = [&](std::size_t which, double value) {
            if (operands.training != nullptr)
                operands.training->update(parameters[which], filled(*x.graph, {features}, value));
        };
        if (says == "in order") update(0, 5.0);
        if (says != "none") update(2, 7.0);
        if (says == "other order") update(0, 5.0);
        return x * parameters[1] + (parameters[0] + parameters[2]) * 0.01;
    }
    bool operator==(const Tally&) const = default;
};

/// One with a state, whose statistic no step updates.
struct Keeper : Tally {
    static constexpr std::string_view name = "keeper";
    static constexpr auto fields = FieldTable{};
    static Keeper example() { return {}; }
    static std::optional<Keeper> fitted(const Shape&, const Shape&) { return std::nullopt; }
    std::vector<StateSpec> state() const { return {{.name = "h", .shape = {features}}}; }
    StepResult step(Var x, std::span<const Var> state, const LayerOperands& operands) const {
        const auto& parameters = operands.parameters;
        const Var h = state[0] * 0.5 + x * parameters[1] + parameters[0] + parameters[2];
        return {.output = h, .state = {h}};
    }
    bool operator==(const Keeper&) const = default;
};

/// What a training makes of a parameter of the first slot, element 0.
float trained_value(const nlohmann::json& layer, const std::string& parameter, bool in_time,
                    std::string_view method) {
    DataSet data = data_of({{"type", "sine"}, {"rows", 8}}, MeanSquaredError{});
    data.train.inputs = Tensor(ValueType::real, in_time ? Shape{4, 3, 2} : Shape{4, 2});
    data.train.targets = Tensor(ValueType::real, in_time ? Shape{4, 3, 1} : Shape{4, 1});
    std::ranges::fill(data.train.inputs.elements, 0.5);
    std::ranges::fill(data.train.targets.elements, 1.0);
    data.outputs = 1;
    const Network network = network_of({layer, {{"type", "dense"}}}, data);
    const auto backend = make_cpu_backend({.threads = 1});
    TrainingSettings settings{.epochs = 2, .batch = 2, .optimizer = Sgd{}, .learning_rates = {0.1}};
    if (method == "targets") settings.method = TrainingMethod::target_propagation;
    Trainer trainer(*backend, network, data, settings);
    trainer.run();
    for (const WeightRange& range : network.weights())
        if (range.slot == 0 && range.parameter.name == parameter)
            return trainer.weights(0)[static_cast<std::size_t>(range.offset)];
    return -1.0F;
}

TEST(Trainer, RunningStatisticsOfAPluginBecomeWhatItsLayerSays) {
    add_layer_type({"tally", {7, 8}, std::make_shared<TypedLayer<Tally>>(Tally{})});
    for (const char* method : {"gradient", "targets"}) {
        const auto value = [&](const char* says, const char* parameter) {
            return trained_value({{"type", "tally"}, {"says", says}}, parameter, false, method);
        };
        for (const char* says : {"in order", "other order"}) {
            EXPECT_EQ(value(says, "five"), 5.0F) << says << method;
            EXPECT_EQ(value(says, "seven"), 7.0F) << says << method;
            EXPECT_NE(value(says, "gain"), 1.0F) << says << method;
        }
        // What it does not say stays as it was, and is never trained.
        EXPECT_EQ(value("second", "five"), 0.0F) << method;
        EXPECT_EQ(value("second", "seven"), 7.0F) << method;
        EXPECT_EQ(value("none", "five"), 0.0F) << method;
        EXPECT_EQ(value("none", "seven"), 0.0F) << method;
        EXPECT_NE(value("none", "gain"), 1.0F) << method;
    }
}

TEST(Trainer, RunningStatisticsThatNoStepUpdatesStay) {
    add_layer_type({"tally", {7, 8}, std::make_shared<TypedLayer<Keeper>>(Keeper{})});
    EXPECT_EQ(trained_value({{"type", "keeper"}}, "five", true, "gradient"), 0.0F);
    EXPECT_NE(trained_value({{"type", "keeper"}}, "gain", true, "gradient"), 1.0F);
}

/// A layer of a plug-in that multiplies by numbers above 0.
struct Scaler : test::PluginLayer<Scaler> {
    static constexpr std::string_view name = "scaler";

    std::int64_t features = 0;
    static constexpr auto fields = FieldTable{Field{"features", &Scaler::features}};

    std::vector<ParameterSpec> parameters() const {
        return {{.name = "scale",
                 .shape = Shape{features},
                 .initial = Initial::ones,
                 .positive = true}};
    }
    Var build(Var x, const LayerOperands& operands) const { return x * operands.parameters[0]; }
    bool operator==(const Scaler&) const = default;
};

/// The scale from a start, of 0.5 with a target of -1: the best of all would be -2.
float trained_scale(float start) {
    DataSet data = data_of({{"type", "sine"}, {"rows", 8}}, MeanSquaredError{});
    data.train.inputs = Tensor(ValueType::real, Shape{4, 1});
    data.train.targets = Tensor(ValueType::real, Shape{4, 1});
    std::ranges::fill(data.train.inputs.elements, 0.5);
    std::ranges::fill(data.train.targets.elements, -1.0);
    data.outputs = 1;
    const Network network = network_of({{{"type", "scaler"}}}, data);
    const auto backend = make_cpu_backend({.threads = 1});
    Trainer trainer(*backend, network, data,
                    {.epochs = 20,
                     .batch = 4,
                     .optimizer = Sgd{},
                     .learning_rates = {0.5},
                     .initial_weights = std::vector{start}});
    trainer.run();
    return trainer.weights(0)[0];
}

TEST(Trainer, WhatIsAboveZeroStaysThere) {
    add_layer_type({"tally", {7, 8}, std::make_shared<TypedLayer<Scaler>>(Scaler{})});
    EXPECT_EQ(trained_scale(1.0F), smallest_positive);
    EXPECT_EQ(trained_scale(0.01F), 0.01F) << "no further down than it was";
}

}  // namespace
}  // namespace cambrian::trainer_weights_test
