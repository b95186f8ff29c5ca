#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cambrian/engine/core/elementary.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/layers/layer_json.hpp"
#include "cambrian/engine/layers/support/initial.hpp"
#include "cambrian/engine/network/network.hpp"

namespace cambrian {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::vector<float> drawn(const ParameterSpec& spec, std::uint64_t id = 0) {
    std::vector<float> values(static_cast<std::size_t>(spec.shape.elements()));
    RandomStream stream(random_key(3, "initial"), id);
    fill_initial(spec, stream, values);
    return values;
}

ParameterSpec weight(const Shape& shape, std::int64_t fan_in, InitRule init, float scale = 1.0F,
                     Activation activation = Activation::identity) {
    ParameterSpec spec{
        .name = "weight", .shape = shape, .fan_in = fan_in, .activation = activation};
    spec.rules = {.init = init, .init_scale = scale};
    return spec;
}

struct Moments {
    double mean = 0.0;
    double deviation = 0.0;
    double largest = 0.0;
};

Moments moments(const std::vector<float>& values) {
    Moments m;
    const auto count = static_cast<double>(values.size());
    for (const float value : values) m.mean += static_cast<double>(value) / count;
    for (const float value : values) {
        m.deviation += std::pow(static_cast<double>(value) - m.mean, 2.0) / count;
        m.largest = std::max(m.largest, std::abs(static_cast<double>(value)));
    }
    m.deviation = std::sqrt(m.deviation);
    return m;
}

/// Deviation and, of uniforms, the largest value that 20,000 draws nearly reach.
void expect_spread(const ParameterSpec& spec, double deviation, bool uniform) {
    const Moments m = moments(drawn(spec));
    EXPECT_NEAR(m.mean, 0.0, 0.03 * deviation);
    EXPECT_NEAR(m.deviation, deviation, 0.03 * deviation);
    if (uniform)
        EXPECT_NEAR(m.largest, std::sqrt(3.0) * deviation, 0.01 * deviation);
    else
        EXPECT_GT(m.largest, 3.0 * deviation);
}

TEST(InitRules, SpreadWeightsAsTheirFormulasSay) {
    const Shape shape{200, 100};
    const auto relu = Activation::relu;
    expect_spread(weight(shape, 100, InitRule::kaiming_uniform), 0.1, true);
    expect_spread(weight(shape, 100, InitRule::kaiming_normal), 0.1, false);
    expect_spread(weight(shape, 100, InitRule::kaiming_normal, 1.0F, relu), std::sqrt(0.02), false);
    expect_spread(weight(shape, 100, InitRule::kaiming_uniform, 0.5F, Activation::mish),
                  0.5 * std::sqrt(0.02), true);
    expect_spread(weight(shape, 100, InitRule::xavier_uniform), std::sqrt(2.0 / 300.0), true);
    expect_spread(weight(shape, 100, InitRule::xavier_normal, 2.0F), 2.0 * std::sqrt(2.0 / 300.0),
                  false);
    expect_spread(weight(shape, 100, InitRule::scaled, 0.1F), 0.01, true);
    expect_spread(weight(shape, 100, InitRule::normal, 0.02F), 0.02, false);
    // A kernel [64, 32, 3, 3]: 288 inputs of an output, 576 outputs of an input.
    expect_spread(weight({64, 32, 3, 3}, 288, InitRule::xavier_uniform), std::sqrt(2.0 / 864.0),
                  true);
}

TEST(InitRules, ConstantsAndZerosDrawNothing) {
    EXPECT_THAT(drawn(weight({2, 3}, 3, InitRule::zeros)), Each(0.0F));
    EXPECT_THAT(drawn(weight({2, 3}, 3, InitRule::constant, -0.25F)), Each(-0.25F));
    EXPECT_FALSE(starts_random(weight({2, 3}, 3, InitRule::zeros)));
    EXPECT_FALSE(starts_random(weight({2, 3}, 3, InitRule::constant)));
}

TEST(InitRules, TheDefaultIsWhatItWas) {
    const ParameterSpec plain{.name = "weight", .shape = {50}, .fan_in = 12};
    EXPECT_EQ(drawn(plain), drawn(weight({50}, 12, InitRule::kaiming_uniform)));
    const InitialRule rule = initial_rule(plain);
    EXPECT_EQ(rule, (InitialRule{.initial = Initial::weight, .bound = 0.5F, .period = 1}));
}

TEST(InitRules, OrthogonalMatricesAreOrthogonal) {
    for (const Shape& shape : {Shape{5, 5}, Shape{3, 8}, Shape{9, 4}, Shape{6, 2, 3}, Shape{1, 7},
                               Shape{7, 1}, Shape{40, 33}}) {
        const std::vector<float> values =
            drawn(weight(shape, shape.elements() / shape[0], InitRule::orthogonal, 2.0F));
        const std::int64_t rows = shape[0];
        const std::int64_t columns = shape.elements() / rows;
        const bool by_rows = rows <= columns;
        const std::int64_t count = std::min(rows, columns);
        const auto at = [&](std::int64_t vector, std::int64_t i) {
            const std::int64_t index = by_rows ? vector * columns + i : i * columns + vector;
            return static_cast<double>(values[static_cast<std::size_t>(index)]);
        };
        for (std::int64_t a = 0; a < count; ++a)
            for (std::int64_t b = 0; b < count; ++b) {
                double product = 0.0;
                for (std::int64_t i = 0; i < std::max(rows, columns); ++i)
                    product += at(a, i) * at(b, i);
                EXPECT_NEAR(product, a == b ? 4.0 : 0.0, 1e-5) << shape.text() << a << ' ' << b;
            }
    }
    EXPECT_NE(drawn(weight({3, 3}, 3, InitRule::orthogonal), 0),
              drawn(weight({3, 3}, 3, InitRule::orthogonal), 1));
}

TEST(InitRules, AMatrixOfZerosStillBecomesOrthogonal) {
    std::vector<float> values(6, 0.0F);
    make_orthogonal({2, 3}, 1.0F, values);
    EXPECT_THAT(values, ElementsAre(1, 0, 0, 0, 1, 0));
}

TEST(InitRules, TheQuantileIsThatOfANormal) {
    for (const double x : {-5.0, -3.0, -1.5, -0.4, 0.0, 0.7, 2.2, 4.5}) {
        const double share = 0.5 * std::erfc(-x / std::sqrt(2.0));
        const auto steps = std::floor(share * 0x1p24);
        const double exact = (steps + 0.5) * 0x1p-24;
        const auto quantile =
            static_cast<double>(elementary::normal_quantile(static_cast<float>(steps * 0x1p-24)));
        EXPECT_NEAR(0.5 * std::erfc(-quantile / std::sqrt(2.0)) / exact, 1.0, 1e-5) << x;
    }
    EXPECT_EQ(elementary::normal_quantile(0.0F), -elementary::normal_quantile(1.0F - 0x1p-24F));
}

Network network_of(const char* json) {
    return Network(blueprint_from_json(nlohmann::json::parse(json), 4, 2));
}

std::vector<InitRule> rules_of(const Network& network) {
    std::vector<InitRule> rules;
    for (const WeightRange& range : network.weights())
        if (range.parameter.initial == Initial::weight) rules.push_back(range.parameter.rules.init);
    return rules;
}

TEST(InitRules, AreSaidByLayersContainersAndTheNetwork) {
    const Network network = network_of(R"({"init": "xavier_normal", "init_scale": 2, "layers": [
        {"type": "dense", "out": 4, "init": "orthogonal"},
        {"type": "sequential", "init": "zeros", "layers": [
            {"type": "dense", "out": 3, "init": "normal"}, {"type": "dense", "out": 4}]},
        {"type": "rms_norm"}, {"type": "rnn", "hidden": 4}, {"type": "dense"}]})");
    EXPECT_THAT(rules_of(network), ElementsAre(InitRule::orthogonal, InitRule::normal,
                                               InitRule::zeros, InitRule::xavier_normal,
                                               InitRule::xavier_normal, InitRule::xavier_normal));
    EXPECT_EQ(network.blueprint().head.rules.init_scale, 2.0F);
    EXPECT_TRUE(network.blueprint().slots[2]->layer.rules.plain()) << "a norm has no matrix";
    const Blueprint read = blueprint_from_json(
        nlohmann::json::parse(network_section(network.blueprint()).dump()), 4, 2);
    EXPECT_EQ(read, network.blueprint());
}

/// Rule and scale of the first weight of a network with one layer before the head.
std::pair<InitRule, float> start_of(const std::string& rules, const std::string& layer) {
    const Blueprint blueprint = blueprint_from_json(
        nlohmann::json::parse("{" + rules + R"("layers": [)" + layer + R"(, {"type": "dense"}]})"),
        4, 2);
    EXPECT_EQ(blueprint_from_json(nlohmann::json(network_section(blueprint))), blueprint) << layer;
    const Network network(blueprint);
    const ParameterRules& start = network.weights().front().parameter.rules;
    return {start.init, start.init_scale};
}

TEST(InitRules, TheNearestHolds) {
    const auto dense = [](const std::string& keys) {
        return R"({"type": "dense", "out": 4)" + keys + "}";
    };
    const auto within = [&](const std::string& outer, const std::string& inner) {
        return R"({"type": "sequential", "layers": [)" + dense(inner) + "]" + outer + "}";
    };
    const auto expect = [](const std::pair<InitRule, float>& found, InitRule init, float scale) {
        EXPECT_EQ(found, (std::pair(init, scale)));
    };
    const std::string twice = R"(, "init": "scaled", "init_scale": 2)";
    const std::string network_twice = R"("init": "scaled", "init_scale": 2, )";
    const std::string half = R"(, "init_scale": 0.5)";
    expect(start_of(network_twice, dense(half)), InitRule::scaled, 0.5F);
    expect(start_of("", within(twice, half)), InitRule::scaled, 0.5F);
    expect(start_of(network_twice, within(half, "")), InitRule::scaled, 0.5F);
    expect(start_of("", within(twice, R"(, "init_scale": 1)")), InitRule::scaled, 1.0F);
    expect(start_of("", within(R"(, "init_scale": 2)", half)), InitRule::standard, 0.5F);
    expect(start_of(R"("init": "zeros", )", dense(R"(, "init": "default")")), InitRule::scaled,
           1.0F);
    expect(start_of("", within(twice, R"(, "init": "default")")), InitRule::scaled, 1.0F);
    expect(start_of(network_twice, within(R"(, "init": "default")", "")), InitRule::scaled, 1.0F);
    expect(start_of(network_twice, dense(R"(, "init": "normal")")), InitRule::normal, 1.0F);
    expect(start_of("", dense(R"(, "init": "default", "init_scale": 1)")), InitRule::standard,
           1.0F);
}

TEST(InitRules, TheNearestSaysWhatDecays) {
    const Network network = network_of(R"({"layers": [
        {"type": "sequential", "decay": false, "layers": [
            {"type": "dense", "out": 4, "decay": true}, {"type": "dropout"},
            {"type": "residual", "layers": [
                {"type": "dense", "out": 4}, {"type": "dense", "out": 4, "decay": true}]},
            {"type": "dense", "out": 4}]},
        {"type": "sequential", "decay": false, "layers": [{"type": "dense", "out": 4}]},
        {"type": "dense", "bias": false}]})");
    std::vector<std::string> decaying;
    for (std::size_t i = 0; i < network.weights().size(); ++i)
        if (network.weights()[i].parameter.decays()) decaying.push_back(network.weight_name(i));
    EXPECT_THAT(decaying, ElementsAre("slot.0.layers.0.weight", "slot.0.layers.2.layers.1.weight",
                                      "head.weight"));
    EXPECT_FALSE(network.blueprint().slots[1]->layer.rules.decay);
    EXPECT_EQ(blueprint_from_json(nlohmann::json(network_section(network.blueprint()))),
              network.blueprint());
}

TEST(InitRules, NetworksStartByThem) {
    const Network network = network_of(R"({"layers": [
        {"type": "dense", "out": 6, "init": "constant", "init_scale": 0.25},
        {"type": "dense", "init": "zeros"}]})");
    RandomStream rng(random_key(1, "test"), 0);
    const std::vector<float> weights = network.initial_weights(rng);
    EXPECT_EQ(std::ranges::count(weights, 0.25F), 24);
    EXPECT_EQ(std::ranges::count(weights, 0.0F), std::ssize(weights) - 24);
}

TEST(InitRules, LayersWithoutWeightsHaveNoKeys) {
    const auto read = [](const char* json) {
        return [json] { (void)layer_from_json(nlohmann::json::parse(json), "layer"); };
    };
    EXPECT_THAT(read(R"({"type": "dropout", "init": "zeros"})"),
                ThrowsMessage<ConfigError>(HasSubstr("init")));
    EXPECT_THAT(read(R"({"type": "rms_norm", "init": "zeros"})"),
                ThrowsMessage<ConfigError>(HasSubstr("init")));
    EXPECT_THAT(read(R"({"type": "dense", "init": "kaiming"})"),
                ThrowsMessage<ConfigError>(HasSubstr("kaiming_uniform")));
    EXPECT_NO_THROW(read(R"({"type": "rms_norm", "decay": false})")());
}

}  // namespace
}  // namespace cambrian
