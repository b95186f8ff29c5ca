#include "cambrian/engine/network/network.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/layers/identity.hpp"
#include "cambrian/tests/support/network_run.hpp"

namespace cambrian {
namespace {

using test::blueprint_of;
using test::difference;
using test::run;
using test::run_sequence;
using test::run_steps;
using test::some_rows;
using test::some_weights;
using ::testing::ElementsAre;

constexpr const char* three_layers =
    R"({"layers": [{"type": "dense", "out": 4, "activation": "tanh"},
    {"type": "dense", "out": 4, "activation": "silu"}, {"type": "dense"}]})";

Network with_link(Blueprint blueprint, Link link) {
    blueprint.links = {link};
    return Network(std::move(blueprint));
}

/// Weights of a network with one link more than another, the link's all set to a value.
std::vector<float> with_link_weights(const Network& linked, std::vector<float> weights,
                                     float value) {
    weights.resize(static_cast<std::size_t>(linked.weight_count()), value);
    return weights;
}

TEST(Network, LaysOutSlotsThenHeadThenLinks) {
    const Network network = with_link(blueprint_of(three_layers, 3, 2), {.source = 0, .target = 4});
    std::vector<std::string> names;
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < network.weights().size(); ++i) {
        names.push_back(network.weight_name(i));
        EXPECT_EQ(network.weights()[i].offset, offset);
        offset += network.weights()[i].count;
    }
    EXPECT_THAT(names, ElementsAre("slot.0.weight", "slot.0.bias", "slot.1.weight", "slot.1.bias",
                                   "head.weight", "head.bias", "link.0.gain"));
    EXPECT_EQ(network.weight_count(), offset);
    EXPECT_EQ(offset, 3 * 4 + 4 + 4 * 4 + 4 + 4 * 2 + 2 + 4);
    EXPECT_THAT(network.activation_codes(), ElementsAre(4, 2, 0));
    EXPECT_EQ(network.activation_count(), 3);
}

TEST(Network, ComputesTheChainOfItsLayers) {
    const Network network(blueprint_of(R"({"layers": [{"type": "dense", "out": 2,
        "activation": "relu"}, {"type": "dense"}]})",
                                       2, 1));
    const std::vector<float> weights{1.0F, 2.0F, -1.0F, 1.0F, 0.5F, -0.25F, 3.0F, 4.0F, 0.125F};
    const Tensor x(ValueType::real, {2, 2}, {1.0, 1.0, -1.0, 2.0});
    EXPECT_THAT(run(network, weights, x).elements,
                ElementsAre(3.0 * 3.5 + 0.125, 3.0 * 3.5 + 4.0 * 2.75 + 0.125));
}

TEST(Network, ADisabledSlotIsTheIdentity) {
    Blueprint blueprint = blueprint_of(three_layers, 3, 2);
    const Network whole(blueprint);
    blueprint.slots[1]->enabled = false;
    const Network disabled(blueprint);
    const std::vector<float> weights = some_weights(whole);
    const Tensor x = some_rows({5, 3});

    Blueprint shorter = blueprint;
    shorter.slots[1].reset();
    std::vector<float> rest(weights.begin(), weights.begin() + 16);
    rest.insert(rest.end(), weights.begin() + 36, weights.end());
    EXPECT_EQ(run(disabled, weights, x), run(Network(shorter), rest, x));
    EXPECT_GT(difference(run(disabled, weights, x), run(whole, weights, x)), 0.1);
    EXPECT_EQ(disabled.structure_key(), whole.structure_key());
    EXPECT_TRUE(whole.can_disable(1));
    EXPECT_FALSE(whole.can_disable(0));
    EXPECT_FALSE(whole.can_disable(2));
}

TEST(Network, AnEmptyResidualAddsTheInputOfTheLayerBeforeIt) {
    const Network skipping(blueprint_of(R"({"layers": [{"type": "dense", "out": 3},
        {"type": "residual"}, {"type": "dense"}]})",
                                        3, 3));
    const Network residual(blueprint_of(R"({"layers": [{"type": "residual", "layers":
        [{"type": "dense"}]}, {"type": "dense"}]})",
                                        3, 3));
    const std::vector<float> weights = some_weights(skipping);
    const Tensor x = some_rows({4, 3});
    EXPECT_LT(difference(run(skipping, weights, x), run(residual, weights, x)), 1e-12);
}

TEST(Network, ANewLinkChangesNothing) {
    const Blueprint blueprint = blueprint_of(three_layers, 3, 2);
    const std::vector<float> weights = some_weights(Network(blueprint));
    const Tensor x = some_rows({4, 3});
    const Tensor before = run(Network(blueprint), weights, x);
    for (const Link link :
         {Link{.source = input_port, .target = 0}, Link{.source = input_port, .target = 1},
          Link{.source = 0, .target = 1}, Link{.source = 0, .target = 4}}) {
        const Network linked = with_link(blueprint, link);
        EXPECT_EQ(linked.weights().back().parameter.initial, Initial::zeros);
        EXPECT_EQ(run(linked, with_link_weights(linked, weights, 0.0F), x), before);
        EXPECT_GT(difference(run(linked, with_link_weights(linked, weights, 0.5F), x), before),
                  0.01);
    }
}

TEST(Network, AForwardLinkAddsTheScaledSource) {
    const Network network =
        with_link(blueprint_of(R"({"layers": [{"type": "dense"}]})", 2, 2), {input_port, 4});
    // The head is the identity, so the output is x + gain · x.
    const std::vector<float> weights{1.0F, 0.0F, 0.0F, 1.0F, 0.0F, 0.0F, 2.0F, -3.0F};
    const Tensor x(ValueType::real, {1, 2}, {5.0, 7.0});
    EXPECT_THAT(run(network, weights, x).elements, ElementsAre(15.0, -14.0));
}

TEST(Network, AForwardLinkProjectsWhereWidthsDiffer) {
    const Network network = with_link(
        blueprint_of(R"({"layers": [{"type": "dense", "out": 1}, {"type": "dense"}]})", 2, 1),
        {input_port, 4});
    EXPECT_EQ(network.weight_name(network.weights().size() - 1), "link.0.projection");
    EXPECT_EQ(network.weights().back().parameter.shape, (Shape{1, 2}));
    // Slot 0 gives 0, the head is the identity, so the output is the projection of x.
    const std::vector<float> weights{0.0F, 0.0F, 0.0F, 1.0F, 0.0F, 10.0F, 1.0F};
    const Tensor x(ValueType::real, {1, 2}, {5.0, 7.0});
    EXPECT_THAT(run(network, weights, x).elements, ElementsAre(57.0));
}

TEST(Network, ABackwardLinkCarriesThePreviousStep) {
    const Network network = with_link(
        blueprint_of(R"({"layers": [{"type": "dense", "out": 1}, {"type": "dense"}]})", 1, 1),
        {.source = 0, .target = 0, .kind = LinkKind::backward});
    ASSERT_TRUE(network.stateful());
    ASSERT_EQ(network.state().size(), 1U);
    EXPECT_EQ(network.state()[0].name, "slot.0.previous_output");
    // Identity layers and a gain of 0.5: y_t = x_t + 0.5 y_(t-1).
    const std::vector<float> weights{1.0F, 0.0F, 1.0F, 0.0F, 0.5F};
    const Tensor x(ValueType::real, {1, 4, 1}, {8.0, 0.0, 2.0, 0.0});
    EXPECT_THAT(run_sequence(network, weights, x).elements, ElementsAre(8.0, 4.0, 4.0, 2.0));
}

TEST(Network, LinksFromOneSourceShareItsState) {
    Blueprint blueprint = blueprint_of(three_layers, 3, 2);
    blueprint.links = {{1, 0, LinkKind::backward}, {1, 1, LinkKind::backward}};
    const Network network(blueprint);
    EXPECT_EQ(network.state().size(), 1U);
    const std::vector<float> weights = some_weights(network);
    const Tensor x = some_rows({2, 5, 3});
    EXPECT_LT(difference(run_sequence(network, weights, x), run_steps(network, weights, x)), 1e-12);
}

TEST(Network, ASequenceIsItsSteps) {
    for (
        const char* layers :
        {R"({"layers": [{"type": "rnn", "hidden": 4}, {"type": "dense"}]})",
         R"({"layers": [{"type": "sequential", "layers": [{"type": "dense", "out": 5,
              "activation": "tanh"}, {"type": "rnn", "hidden": 3}, {"type": "rnn", "hidden": 4}]},
              {"type": "residual", "layers": [{"type": "rnn"}]}, {"type": "rnn"}]})",
         R"({"layers": [{"type": "dense", "out": 4}, {"type": "rms_norm"}, {"type": "dense"}]})"}) {
        const Network network(blueprint_of(layers, 3, 2));
        const std::vector<float> weights = some_weights(network);
        const Tensor x = some_rows({2, 6, 3});
        const Tensor sequence = run_sequence(network, weights, x);
        EXPECT_EQ(sequence.shape, (Shape{2, 6, 2}));
        EXPECT_LT(difference(sequence, run_steps(network, weights, x)), 1e-12) << layers;
    }
}

TEST(Network, NamesStatesByTheirPlace) {
    const Network network(blueprint_of(R"({"layers": [{"type": "sequential", "layers":
        [{"type": "rnn", "hidden": 3}]}, {"type": "rnn"}]})",
                                       3, 2));
    ASSERT_EQ(network.state().size(), 2U);
    EXPECT_EQ(network.state()[0].name, "slot.0.layers.0.hidden");
    EXPECT_EQ(network.state()[1].name, "head.hidden");
    EXPECT_EQ(network.state()[1].shape, Shape{2});
}

TEST(Network, IdentityLayersChangeNothing) {
    const Blueprint blueprint = blueprint_of(three_layers, 3, 2);
    const std::vector<float> weights = some_weights(Network(blueprint));
    const Tensor x = some_rows({2, 3, 3});
    const Tensor before = run_sequence(Network(blueprint), weights, x);
    RandomStream rng(random_key(1, "test.identity"), 0);
    for (const std::string_view type : layer_types()) {
        const std::optional<AnyLayer> layer = identity_layer(type, {4});
        if (!layer) continue;
        Blueprint longer = blueprint;
        longer.slots[3] = Slot{.layer = *layer};
        const std::vector<float> identity = identity_parameters(*layer, rng);
        std::vector<float> grown = weights;
        grown.insert(grown.begin() + 16 + 20, identity.begin(), identity.end());
        const Network network(longer);
        ASSERT_EQ(network.weight_count(), static_cast<std::int64_t>(grown.size())) << type;
        EXPECT_EQ(difference(run_sequence(network, grown, x), before), 0.0) << type;
    }
}

TEST(Network, KeyIgnoresActivationsFlagsAndWeightsOnly) {
    const Blueprint blueprint = blueprint_of(three_layers, 3, 2);
    const Hash128 key = Network(blueprint).structure_key();
    Blueprint other = blueprint;
    *other.slots[0]->layer.activations()[0] = Activation::gelu;
    other.slots[1]->enabled = false;
    EXPECT_EQ(Network(other).structure_key(), key);

    EXPECT_NE(with_link(blueprint, {.source = 0, .target = 1}).structure_key(), key);
    EXPECT_NE(Network(blueprint_of(three_layers, 4, 2)).structure_key(), key);
    Blueprint moved = blueprint;
    std::swap(moved.slots[1], moved.slots[2]);
    EXPECT_NE(Network(moved).structure_key(), key);
    Blueprint norm = blueprint;
    norm.slots[1]->layer = RmsNorm{.features = 4};
    const Hash128 norm_key = Network(norm).structure_key();
    std::get<RmsNorm>(norm.slots[1]->layer.variant()).epsilon = 1e-3F;
    EXPECT_NE(Network(norm).structure_key(), norm_key);
}

TEST(Network, FreshWeightsFollowTheirSpecification) {
    const Network network(blueprint_of(R"({"layers": [{"type": "dense", "out": 60,
        "activation": "relu"}, {"type": "layer_norm"}, {"type": "dense"}],
        "links": [{"source": 0, "target": "head"}]})",
                                       54, 48));
    RandomStream rng(random_key(1, "fresh"), 0);
    const std::vector<float> weights = network.initial_weights(rng);
    for (std::size_t i = 0; i < network.weights().size(); ++i) {
        const WeightRange& range = network.weights()[i];
        const auto values = std::span(weights).subspan(static_cast<std::size_t>(range.offset),
                                                       static_cast<std::size_t>(range.count));
        const auto [least, most] = std::ranges::minmax(values);
        const std::string name = network.weight_name(i);
        if (name == "slot.0.weight" || name == "head.weight") {
            const double bound = std::sqrt(name == "head.weight" ? 3.0 / 60.0 : 6.0 / 54.0);
            EXPECT_NEAR(static_cast<double>(most), bound, 0.01 * bound) << name;
            EXPECT_NEAR(static_cast<double>(least), -bound, 0.01 * bound) << name;
        } else {
            const float constant = name == "slot.1.gain" ? 1.0F : 0.0F;
            EXPECT_EQ(std::tuple(least, most), std::tuple(constant, constant)) << name;
        }
    }
}

TEST(Network, AStatefulNetworkIsNotAppliedAtOnce) {
    const Network network(blueprint_of(R"({"layers": [{"type": "rnn"}]})", 3, 2));
    EXPECT_THROW(static_cast<void>(run(network, some_weights(network), some_rows({2, 3}))),
                 ContractViolation);
}

TEST(Network, SharesAProgramOnlyWithinASetOfActivations) {
    const auto of = [](const std::string& first, const std::string& head) {
        return Network(test::blueprint_of(
            R"({"layers": [{"type": "dense", "out": 4, "activation": ")" + first +
                R"("}, {"type": "dense", "activation": ")" + head + R"("}]})",
            3, 2));
    };
    const Network common = of("relu", "tanh");
    EXPECT_EQ(common.activation_set(), ActivationSet::common);
    EXPECT_EQ(of("mish", "linear").activation_set(), ActivationSet::any);
    EXPECT_EQ(common.structure_key(), of("gelu", "linear").structure_key());
    EXPECT_EQ(of("relu", "mish").structure_key(), of("elu", "tanh").structure_key());
    EXPECT_NE(common.structure_key(), of("relu", "mish").structure_key());
}

}  // namespace
}  // namespace cambrian
