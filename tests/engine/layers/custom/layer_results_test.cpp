#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/layers/any_layer.hpp"
#include "cambrian/engine/network/network.hpp"
#include "cambrian/tests/support/network_run.hpp"
#include "cambrian/tests/support/plugin_layer.hpp"

// What layers of plug-ins add to graphs is what they say of themselves, or an error.
namespace cambrian {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// With a state, and a fault or none.
struct Giver : test::PluginLayer<Giver> {
    static constexpr std::string_view name = "giver";

    std::int64_t features = 0;
    std::string fault{};
    static constexpr auto fields =
        FieldTable{Field{"features", &Giver::features}, Field{"fault", &Giver::fault}};

    std::vector<ParameterSpec> parameters() const {
        if (fault == "fan") return {{.name = "gain", .shape = {features}}};
        return {{.name = "gain", .shape = {features}, .initial = Initial::ones}};
    }
    std::vector<StateSpec> state() const {
        return {{.name = "h", .shape = {features}}, {.name = "g", .shape = {2, features}}};
    }
    StepResult step(Var x, std::span<const Var> state, const LayerOperands& operands) const {
        const Var h = state[0] * 0.5 + x * operands.parameters[0];
        const Var g = state[1] + 1.0;
        if (fault == "no output") return {.output = {}, .state = {h, g}};
        if (fault == "narrow output") return {.output = slice(h, 1, 0, 1), .state = {h, g}};
        if (fault == "short output") return {.output = slice(h, 0, 0, 1), .state = {h, g}};
        if (fault == "whole output")
            return {.output = cast(h, ValueType::integer), .state = {h, g}};
        if (fault == "scalar state") return {.output = h, .state = {sum_all(h), g}};
        if (fault == "short state") return {.output = h, .state = {h, slice(g, 0, 0, 1)}};
        if (fault == "swapped states") return {.output = h, .state = {g, h}};
        if (fault == "empty state") return {.output = h, .state = {h, Var{}}};
        if (fault == "one state") return {.output = h, .state = {h}};
        if (fault == "three states") return {.output = h, .state = {h, g, g}};
        if (fault == "other graph") {
            static Graph other;
            return {.output = constant(other, 1.0), .state = {h, g}};
        }
        return {.output = h, .state = {h, g}};
    }
    bool operator==(const Giver&) const = default;
};

/// Without a state; new statistics in any order, and faults.
struct Counter : test::PluginLayer<Counter> {
    static constexpr std::string_view name = "counter";

    std::int64_t features = 0;
    std::string fault{};
    static constexpr auto fields =
        FieldTable{Field{"features", &Counter::features}, Field{"fault", &Counter::fault}};

    std::vector<ParameterSpec> parameters() const {
        return {{.name = "gain", .shape = {features}, .initial = Initial::ones},
                {.name = "five", .shape = {features}, .initial = Initial::zeros, .buffer = true},
                {.name = "seven", .shape = {features}, .initial = Initial::zeros, .buffer = true}};
    }
    Var build(Var x, const LayerOperands& operands) const {
        const auto& parameters = operands.parameters;
        if (TrainingPass* training = operands.training) {
            const Var seven = filled(*x.graph, {features}, 7.0);
            training->update(parameters[2], seven);
            if (fault == "twice") training->update(parameters[2], seven);
            if (fault == "gain") training->update(parameters[0], seven);
            if (fault == "stranger") training->update(seven, seven);
            if (fault == "scalar") training->update(parameters[1], sum_all(seven));
            if (fault == "empty") training->update(parameters[1], Var{});
            if (fault.empty()) training->update(parameters[1], seven - 2.0);
        }
        return x * parameters[0];
    }
    bool operator==(const Counter&) const = default;
};

class CustomResults : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        add_layer_type({"odd", {5, 6}, std::make_shared<TypedLayer<Giver>>(Giver{})});
        add_layer_type({"odd", {5, 6}, std::make_shared<TypedLayer<Counter>>(Counter{})});
    }
    /// @param inside in a container, whose name no message is to say in place of the layer's.
    static Network network_of(const std::string& type, const std::string& fault, bool inside) {
        const std::string layer = R"({"type": ")" + type + R"(", "fault": ")" + fault + R"("})";
        return Network(test::blueprint_of(
            R"({"layers": [)" +
                (inside ? R"({"type": "sequential", "layers": [)" + layer + "]}" : layer) +
                R"(, {"type": "dense"}]})",
            3, 2));
    }
    /// What is said of a pass, in training or not, over [4, 3] or [4, 5, 3].
    static std::string said(const Network& network, bool training, bool in_time) {
        Graph graph;
        NetworkOperands operands{
            .weights = graph.input("weights", ValueType::real, {network.weight_count()}),
            .activations = graph.input("activations", ValueType::integer, {1}),
            .enabled = graph.input("enabled", ValueType::boolean, {network.slot_count()})};
        TrainingPass pass(graph.input("key", ValueType::integer, {2}),
                          graph.input("id", ValueType::integer, {}));
        if (training) operands.training = &pass;
        const Var x = in_time ? graph.input("x", ValueType::real, {4, 5, 3})
                              : graph.input("x", ValueType::real, {4, 3});
        try {
            if (in_time)
                static_cast<void>(network.sequence(x, operands));
            else if (network.stateful())
                static_cast<void>(network.step(x, network.initial_state(graph, 4), operands));
            else
                static_cast<void>(network.apply(x, operands));
        } catch (const ConfigError& error) {
            return error.what();
        }
        return "nothing";
    }
};

TEST_F(CustomResults, OfStepsHaveTheShapesThatTheLayerSays) {
    for (const bool inside : {false, true})
        for (const bool in_time : {false, true}) {
            const auto of = [&](const char* fault) {
                return said(network_of("giver", fault, inside), false, in_time);
            };
            EXPECT_EQ(of(""), "nothing");
            EXPECT_EQ(of("narrow output"),
                      "layer \"giver\" of the plug-in \"odd\" fails in step (its output is real "
                      "[4, 1], and real [4, 3] belongs there) mend the plug-in");
            EXPECT_THAT(of("no output"), HasSubstr("its output is nothing, and"));
            EXPECT_THAT(of("short output"), HasSubstr("its output is real [1, 3], and"));
            EXPECT_THAT(of("whole output"), HasSubstr("its output is integer [4, 3], and"));
            EXPECT_THAT(of("other graph"), HasSubstr("its output is of another graph, and"));
            EXPECT_THAT(of("scalar state"),
                        HasSubstr("its state \"h\" is real [], and real [4, 3] belongs there"));
            EXPECT_THAT(of("short state"),
                        HasSubstr("its state \"g\" is real [1, 2, 3], and real [4, 2, 3] belongs"));
            EXPECT_THAT(of("swapped states"), HasSubstr("its state \"h\" is real [4, 2, 3]"));
            EXPECT_THAT(of("empty state"), HasSubstr("its state \"g\" is nothing"));
            EXPECT_THAT(of("one state"), HasSubstr("it gives 1 states and has 2"));
            EXPECT_THAT(of("three states"), HasSubstr("it gives 3 states and has 2"));
        }
}

TEST_F(CustomResults, OfRunningStatisticsAreThoseOfTheLayer) {
    for (const bool inside : {false, true})
        for (const bool in_time : {false, true}) {
            const auto of = [&](const char* fault, bool training = true) {
                return said(network_of("counter", fault, inside), training, in_time);
            };
            EXPECT_EQ(of(""), "nothing");
            EXPECT_EQ(of("one of them"), "nothing");
            EXPECT_EQ(of("twice", false), "nothing");
            EXPECT_EQ(of("twice"),
                      "layer \"counter\" of the plug-in \"odd\" fails in build (it updates the "
                      "statistic \"seven\" twice) mend the plug-in");
            for (const char* fault : {"gain", "stranger"})
                EXPECT_THAT(of(fault), HasSubstr("it updates what is no running statistic of its"));
            EXPECT_THAT(of("scalar"), HasSubstr("the new statistic \"five\" is real [], and real "
                                                "[3] belongs there"));
            EXPECT_THAT(of("empty"), HasSubstr("the new statistic \"five\" is nothing"));
        }
}

TEST_F(CustomResults, WeightsThatStartByTheirFanHaveOne) {
    EXPECT_THAT([] { static_cast<void>(network_of("giver", "fan", false)); },
                testing::ThrowsMessage<ConfigError>(
                    AllOf(HasSubstr("layer \"giver\" of the plug-in \"odd\" fails in parameters ("),
                          HasSubstr("\"gain\" starts as a weight and has no fan_in"))));
}

}  // namespace
}  // namespace cambrian
