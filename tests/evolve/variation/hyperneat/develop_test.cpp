#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/evolve/evaluation/evaluator.hpp"
#include "cambrian/evolve/variation/hyperneat/develop.hpp"
#include "cambrian/tests/evolve/support/hyperneat_support.hpp"

// What a CPPN draws on layers of nodes that the config names.
namespace cambrian::evolve {
namespace {

using testing::at;
using testing::cppn;
using testing::head_of;
using testing::product_cppn;
using Connection = Neurons::Connection;
using enum NeuronActivation;
using ::testing::ElementsAre;

Genome developed(const SubstrateSettings& settings, std::int64_t inputs, std::int64_t outputs,
                 const Individual& genotype, bool time = false) {
    Genome network = genome_of(develop(Substrate(settings, inputs, outputs, time), genotype));
    check(network);
    EXPECT_EQ(Network(network.blueprint).blueprint(), network.blueprint);
    return network;
}

TEST(Develop, GivesTheWeightsOfThePattern) {
    // 0.25 · 1 is not above the threshold of 0.3.
    const Genome network = developed({.inputs = at({{-1, -1}, {0.25, -1}}),
                                      .outputs = at({{0.5, 1}, {1, 1}}),
                                      .maximum_weight = 7.0,
                                      .weight_threshold = 0.3,
                                      .output_activation = relu},
                                     2, 2, product_cppn());
    EXPECT_THAT(head_of(network).connections, ElementsAre(Connection{.source = 0, .target = 0},
                                                          Connection{.source = 0, .target = 1}));
    EXPECT_EQ(head_of(network).neurons[1].activation, relu);
    ASSERT_EQ(network.weights.size(), 4U);
    EXPECT_NEAR(network.weights[0], -2.0F, 1e-5F);
    EXPECT_NEAR(network.weights[1], -7.0F, 1e-5F);
    EXPECT_EQ(network.weights[2], 0.0F) << "no biases";
}

TEST(Develop, LeavesOutNodesOnNoPath) {
    // The second hidden node lies where the pattern is 0.
    SubstrateSettings settings{.inputs = at({{1, -1}}),
                               .hidden = {at({{0.5, 0}, {0, 0}, {1, 0}})},
                               .outputs = at({{1, 1}}),
                               .hidden_activation = sin};
    const Genome all = developed(settings, 1, 1, product_cppn());
    EXPECT_EQ(head_of(all).neurons.size(), 3U);
    EXPECT_THAT(
        head_of(all).connections,
        ElementsAre(Connection{.source = 0, .target = 1}, Connection{.source = 0, .target = 2},
                    Connection{.source = 2, .target = 0}, Connection{.source = 3, .target = 0}));
    EXPECT_EQ(head_of(all).neurons[2].activation, sin);
    settings.outputs = at({{0, 1}});
    const Genome none = developed(settings, 1, 1, product_cppn());
    EXPECT_EQ(head_of(none).neurons.size(), 1U);
    EXPECT_TRUE(head_of(none).connections.empty());
}

TEST(Develop, KeepsNodesThatABiasAloneFeeds) {
    // weight y1, which is 0 at the input and at the first hidden node, whose bias leads nowhere;
    // bias x1.
    const Individual genotype = cppn(4, 2, {{identity}, {identity}}, {{1, 0, 1.0F}, {0, 1, 1.0F}});
    const SubstrateSettings settings{.inputs = at({{1, 0}}),
                                     .hidden = {at({{0.25, 0}, {0.5, 1}, {0, 1}})},
                                     .outputs = at({{1, 1}}),
                                     .bias = true};
    const Genome network = developed(settings, 1, 1, genotype);
    EXPECT_EQ(head_of(network).neurons.size(), 2U) << "the third has no bias";
    EXPECT_THAT(head_of(network).connections, ElementsAre(Connection{.source = 2, .target = 0}));
    EXPECT_THAT(network.weights, ElementsAre(3.0F, 3.0F, 1.5F));
}

TEST(Develop, LinksAllLaterLayersAndLooksBack) {
    SubstrateSettings settings{.inputs = at({{1, -1}}),
                               .hidden = {at({{1, 0}}), at({{1, 0.5}})},
                               .outputs = at({{1, 1}}),
                               .links = SubstrateLinks::later};
    EXPECT_EQ(head_of(developed(settings, 1, 1, product_cppn())).connections.size(), 6U);
    settings.links = SubstrateLinks::next;
    settings.recurrent = true;
    EXPECT_THAT(head_of(developed(settings, 1, 1, product_cppn(), true)).connections,
                ElementsAre(Connection{.source = 0, .target = 1},
                            Connection{.source = 2, .target = 1, .delay = 1},
                            Connection{.source = 2, .target = 2},
                            Connection{.source = 3, .target = 2, .delay = 1},
                            Connection{.source = 3, .target = 0}));
}

TEST(Develop, ReadsLinksBiasesAndDistance) {
    // weight 0.5, link x1 - x2, bias x1; distances are beyond what a weight may be.
    const Individual genotype = cppn(5, 3, {{identity}, {identity}, {identity}},
                                     {{0, 1, 1.0F}, {2, 1, -1.0F}, {0, 2, 1.0F}}, {0.5F});
    SubstrateSettings settings{.inputs = at({{0, -1}, {1, -1}}),
                               .outputs = at({{0.5, 1}}),
                               .maximum_weight = 4.0,
                               .link_expression = true,
                               .bias = true,
                               .distance = true};
    const Genome network = developed(settings, 2, 1, genotype);
    EXPECT_THAT(head_of(network).connections, ElementsAre(Connection{.source = 1, .target = 0}));
    EXPECT_THAT(network.weights, ElementsAre(2.0F, 2.0F));

    const Individual far =
        cppn(5, 3, {{identity}, {identity}, {identity}}, {{4, 0, -1.0F}}, {0.0F, 1.0F, 0.0F});
    EXPECT_THAT(developed(settings, 2, 1, far).weights, ElementsAre(-4.0F, -4.0F, 0.0F));
}

TEST(Develop, LimitsWhatTheCppnSays) {
    const SubstrateSettings settings{.inputs = at({{1, -1}}), .outputs = at({{1, 1}})};
    const Individual infinite = cppn(4, 1, {{identity}, {cube}}, {{0, 1, 1e20F}, {5, 0, 1.0F}});
    EXPECT_THAT(developed(settings, 1, 1, infinite).weights, ElementsAre(3.0F, 0.0F));
    // The same times 0 is no number.
    const Individual undefined = cppn(4, 1, {{identity, NeuronAggregation::product}, {cube}},
                                      {{0, 1, 1e20F}, {5, 0, 1.0F}, {1, 0, 0.0F}});
    EXPECT_TRUE(head_of(developed(settings, 1, 1, undefined)).connections.empty());
}

TEST(Develop, AsksTheNetworkThatTheGenotypeIs) {
    const Substrate substrate({.inputs = {.shape = {5}}}, 5, 3, false);
    const Individual genotype = cppn(4, 1, {{tanh}, {sin}, {gauss}, {sigmoid}},
                                     {{0, 1, 1.7F},
                                      {1, 2, -0.6F},
                                      {2, 3, 2.1F},
                                      {3, 1, 0.3F},
                                      {5, 0, 0.9F},
                                      {6, 0, -1.3F},
                                      {7, 0, 0.7F},
                                      {5, 3, 0.4F}},
                                     {0.1F, -0.2F, 0.3F, 0.4F});
    Cppn asked(substrate, genotype);
    std::vector<float> rows;
    for (const SubstratePoint& from : substrate.inputs()) {
        for (const SubstratePoint& to : substrate.outputs()) {
            asked.ask(from, to);
            rows.insert(rows.end(), {from[0], from[1], to[0], to[1]});
        }
    }
    const auto backend = make_cpu_backend({});
    const std::vector<float> expected = infer(*backend, genome_of(genotype), rows, 15, 0);
    std::vector<float> weights;
    for (const Cppn::Answer& answer : asked.answers()) {
        weights.push_back(answer.weight);
    }
    EXPECT_EQ(weights, expected);
}

}  // namespace
}  // namespace cambrian::evolve
