#include "cambrian/engine/check/gradient_check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/network/observe/id_reader.hpp"

namespace cambrian {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Network network_of(const char* json, std::int64_t inputs = 3, std::int64_t outputs = 2) {
    return Network(blueprint_from_json(nlohmann::json::parse(json), inputs, outputs));
}

std::vector<float> fresh(const Network& network) {
    RandomStream rng(random_key(5, "check.test"), 0);
    return network.initial_weights(rng);
}

CheckReport checked(const Network& network, const ForwardModel& model,
                    const CheckSettings& settings = {}) {
    const auto cpu = make_cpu_backend({});
    const std::array<Backend*, 1> backends{cpu.get()};
    return check_network(network, model, fresh(network), backends, settings);
}

const CheckedTensor& tensor(const CheckReport& report, std::string_view name) {
    return *std::ranges::find(report.tensors, name, &CheckedTensor::name);
}

/// A network whose derivative has the wrong sign: the value is right.
class WrongSign final : public ForwardModel {
  public:
    explicit WrongSign(const Network& network) : network_(network) {}
    [[nodiscard]] std::int64_t input_features() const override { return network_.input_features(); }
    [[nodiscard]] std::span<const StateSpec> state() const override { return network_.state(); }
    [[nodiscard]] Var apply(Var x, const NetworkOperands& operands) const override {
        return wrong(network_.apply(x, operands));
    }
    [[nodiscard]] StepResult step(Var x, std::span<const Var> state,
                                  const NetworkOperands& operands) const override {
        StepResult result = network_.step(x, state, operands);
        result.output = wrong(result.output);
        return result;
    }

  private:
    [[nodiscard]] static Var wrong(Var y) { return 2.0 * stop_gradient(y) - y; }
    const Network& network_;
};

/// y |y| of what a network answers: its curvature jumps at 0.
class Folded final : public ForwardModel {
  public:
    explicit Folded(const Network& network) : network_(network) {}
    [[nodiscard]] std::int64_t input_features() const override { return network_.input_features(); }
    [[nodiscard]] std::span<const StateSpec> state() const override { return network_.state(); }
    [[nodiscard]] Var apply(Var x, const NetworkOperands& operands) const override {
        const Var y = network_.apply(x, operands);
        return y * abs(y);
    }
    [[nodiscard]] StepResult step(Var x, std::span<const Var> state,
                                  const NetworkOperands& operands) const override {
        return network_.step(x, state, operands);
    }

  private:
    const Network& network_;
};

/// One that forgets its past when it is asked for a sequence.
class Forgetful final : public ForwardModel {
  public:
    explicit Forgetful(const Network& network) : network_(network) {}
    [[nodiscard]] std::int64_t input_features() const override { return network_.input_features(); }
    [[nodiscard]] std::span<const StateSpec> state() const override { return network_.state(); }
    [[nodiscard]] Var apply(Var x, const NetworkOperands& operands) const override {
        return network_.apply(x, operands);
    }
    [[nodiscard]] StepResult step(Var x, std::span<const Var> state,
                                  const NetworkOperands& operands) const override {
        return network_.step(x, state, operands);
    }
    [[nodiscard]] Var sequence(Var x, const NetworkOperands& operands) const override {
        const std::array reversed{
            x.graph->add(Op::flip, std::span(&x, 1), AxisAttribute{.axis = 1})};
        return network_.sequence(reversed[0], operands);
    }

  private:
    const Network& network_;
};

TEST(GradientCheck, NetworksOfManyLayersPass) {
    for (
        const char* json :
        {R"({"layers": [{"type": "dense", "out": 5, "activation": "mish"},
              {"type": "layer_norm"}, {"type": "swiglu"}, {"type": "dense"}],
              "links": [{"source": "input", "target": "head"}]})",
         R"({"layers": [{"type": "lstm", "hidden": 4}, {"type": "mamba", "state": 2}, {"type": "dense"}]})",
         R"({"layers": [{"type": "multi_head_attention", "heads": 1, "features": 3}, {"type": "dense"}]})",
         R"({"layers": [{"type": "dense", "out": 4, "activation": "relu"}, {"type": "dense"}],
              "links": [{"source": 0, "target": 0, "kind": "backward"}]})"}) {
        const Network network = network_of(json);
        const CheckReport report = checked(network, network, {.samples = 0});
        EXPECT_TRUE(report.passed()) << json;
        EXPECT_EQ(report.tensors.size(), network.weights().size() + 1);
        for (const CheckedTensor& each : report.tensors) {
            EXPECT_EQ(each.checked, each.elements) << each.name;
            EXPECT_LE(each.error, 1e-5) << each.name;
        }
        EXPECT_EQ(report.pairs.size(), network.stateful() ? 4U : 3U) << json;
    }
}

/// The input of a norm over one feature has next to none: what rounding leaves of its parts is
/// no mistake.
TEST(GradientCheck, GradientsThatCancelPass) {
    const Network network = network_of(
        R"({"layers": [{"type": "rms_norm"},
                       {"type": "dense", "out": 8, "activation": "hard_swish", "bias": false},
                       {"type": "dense"}]})",
        1);
    for (std::uint64_t seed = 1; seed <= 5; ++seed)
        EXPECT_TRUE(checked(network, network, {.seed = seed}).passed()) << seed;
}

TEST(GradientCheck, AWrongGradientIsCaught) {
    for (const char* json : {R"({"layers": [{"type": "dense", "out": 5, "activation": "tanh"},
                                            {"type": "dense"}]})",
                             R"({"layers": [{"type": "rnn", "hidden": 4}, {"type": "dense"}]})"}) {
        const Network network = network_of(json);
        const CheckReport report = checked(network, WrongSign(network));
        EXPECT_FALSE(report.passed()) << json;
        for (const CheckedTensor& each : report.tensors) {
            EXPECT_NEAR(each.error, 2.0, 1e-3) << json << each.name;
            EXPECT_NEAR(each.measured, -each.computed, 1e-6) << json << each.name;
            EXPECT_EQ(each.kinks, 0) << json << each.name;
        }
    }
}

TEST(GradientCheck, ASequenceThatIsNotItsStepsIsCaught) {
    const Network network =
        network_of(R"({"layers": [{"type": "rnn", "hidden": 4}, {"type": "dense"}]})");
    const CheckReport report = checked(network, Forgetful(network));
    EXPECT_FALSE(report.passed());
    EXPECT_FALSE(report.pairs.front().passed());
    EXPECT_GT(report.pairs.front().error, 0.1);
    EXPECT_EQ(report.pairs.front().name, "steps against the sequence");
}

TEST(GradientCheck, ABackendBeyondItsBoundFails) {
    const Network network = network_of(R"({"layers": [{"type": "dense"}]})");
    EXPECT_TRUE(checked(network, network).passed());
    EXPECT_FALSE(checked(network, network, {.backend_bound = 1e-12}).passed());
}

TEST(GradientCheck, KinksAreCountedAndNoErrors) {
    const Network network =
        network_of(R"({"layers": [{"type": "dense", "out": 4, "activation": "relu"},
                                  {"type": "dense", "bias": false}]})");
    std::vector<float> weights = fresh(network);
    std::fill(weights.begin(), weights.begin() + 16, 0.0F);
    const CheckReport report = check_network(network, network, weights, {}, {.batch = 1});
    EXPECT_TRUE(report.passed());
    EXPECT_EQ(tensor(report, "slot.0.bias").kinks, 4);
    EXPECT_EQ(tensor(report, "slot.0.weight").kinks, 12);
    EXPECT_EQ(tensor(report, "head.weight").kinks, 0);
}

/// There is no weight that a difference could move.
TEST(GradientCheck, NetworksWithoutWeightsPass) {
    for (const auto& [json, inputs, outputs] :
         {std::tuple{R"({"layers": [{"type": "softmax"}]})", 4, 4},
          std::tuple{R"({"input": [2, 4, 4],
              "layers": [{"type": "max_pool2d", "kernel": 2}, {"type": "dropout"}]})",
                     32, 8}}) {
        const Network network = network_of(json, inputs, outputs);
        ASSERT_EQ(network.weight_count(), 0) << json;
        const CheckReport report = checked(network, network, {.samples = 0});
        EXPECT_TRUE(report.passed()) << json;
        EXPECT_GT(tensor(report, "input").largest, 0.0) << json;
    }
}

/// At 0 exactly the slope over a step is as large as the step is small.
TEST(GradientCheck, AJumpThatIsMetIsAKink) {
    for (const char* activation : {"sign", "step"}) {
        const std::string json = std::string(R"({"layers": [{"type": "dense", "out": 4,
            "init": "zeros", "activation": ")") +
                                 activation + R"("}, {"type": "dense"}]})";
        const Network network = network_of(json.c_str());
        const CheckReport report = checked(network, network, {.samples = 0});
        EXPECT_TRUE(report.passed()) << activation;
        EXPECT_EQ(tensor(report, "slot.0.weight").kinks, 12) << activation;
        EXPECT_EQ(tensor(report, "slot.0.bias").kinks, 4) << activation;
        EXPECT_EQ(tensor(report, "slot.0.weight").largest, 0.0) << activation;
        EXPECT_EQ(tensor(report, "head.bias").kinks, 0) << activation;
        EXPECT_FALSE(checked(network, WrongSign(network)).passed()) << activation;
    }
}

TEST(GradientCheck, AJumpOfTheCurvatureIsAKink) {
    const Network network =
        network_of(R"({"layers": [{"type": "dense", "init": "zeros", "bias": false}]})");
    const CheckReport report = check_network(network, Folded(network), fresh(network), {}, {});
    EXPECT_TRUE(report.passed());
    EXPECT_EQ(tensor(report, "head.weight").kinks, 6);
}

TEST(GradientCheck, IdsStayIds) {
    const Network network =
        network_of(R"({"layers": [{"type": "embedding", "vocabulary": 7, "features": 4},
                                  {"type": "dense"}]})",
                   1);
    const CheckReport report = checked(network, network, {.batch = 6, .samples = 0});
    EXPECT_TRUE(report.passed());
    EXPECT_EQ(tensor(report, "input").largest, 0.0);
    EXPECT_GT(tensor(report, "slot.0.table").largest, 0.0);
}

TEST(GradientCheck, IdsStayIdsWhereverTheyAreRead) {
    const char* beside =
        R"({"layers": [{"type": "parallel", "combine": "grid_scatter", "branches": [
        {"type": "dense", "out": 4}, {"type": "sequential", "layers": [
            {"type": "embedding", "vocabulary": 2, "features": 3}]}]}, {"type": "dense"}]})";
    const char* behind = R"({"layers": [{"type": "dropout"},
        {"type": "embedding", "vocabulary": 2, "features": 3}, {"type": "dense"}]})";
    for (const char* text : {beside, behind}) {
        const Network network = network_of(text, 1);
        ASSERT_NE(id_reader(network.blueprint()), nullptr) << text;
        EXPECT_EQ(id_reader(network.blueprint())->vocabulary, 2) << text;
        for (std::uint64_t seed = 1; seed < 4; ++seed)
            EXPECT_TRUE(checked(network, network, {.batch = 6, .seed = seed}).passed()) << text;
    }
}

TEST(GradientCheck, SamplesAreAsManyAsAsked) {
    const Network network =
        network_of(R"({"layers": [{"type": "dense", "out": 40}, {"type": "dense"}]})");
    const CheckReport report = checked(network, network, {.samples = 7});
    EXPECT_EQ(tensor(report, "slot.0.weight").checked, 7);
    EXPECT_EQ(tensor(report, "head.bias").checked, 2);
    EXPECT_THAT([&] { (void)check_network(network, network, std::vector<float>(3), {}, {}); },
                ThrowsMessage<ShapeError>(HasSubstr("3 weights for a network of 242")));
}

}  // namespace
}  // namespace cambrian
