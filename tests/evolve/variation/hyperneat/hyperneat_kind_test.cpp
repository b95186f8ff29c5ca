#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/tests/evolve/support/genome_support.hpp"
#include "cambrian/tests/evolve/support/hyperneat_support.hpp"

namespace cambrian::evolve {
namespace {

using ::testing::HasSubstr;
using testing::head_of;
using testing::hyperneat_kind;
using testing::neat_blueprint;
using ::testing::ThrowsMessage;

Variation hyperneat_variation(std::string_view settings) {
    VariationSettings result{
        .founder = neat_blueprint(2, 1), .limits = {}, .mutation = {}, .splice = {}};
    result.kind = hyperneat_kind(settings);
    return {3, result};
}

Genome founder_number(const Variation& variation, BirthId id) {
    return variation.materialise({id, Recipe::sample, {}}, {}).genome;
}

TEST(HyperneatKind, FoundersAreCppns) {
    const Variation variation = hyperneat_variation(
        R"({"substrate": {"distance": true, "link_expression": true, "bias": true}})");
    EXPECT_TRUE(variation.develops());
    const Genome founder = founder_number(variation, 5);
    check(founder);
    EXPECT_EQ(founder.blueprint.input_features, 5);
    EXPECT_EQ(head_of(founder).connections.size(), 15U);
    EXPECT_EQ(founder.neuron_genes.size(), 1U);
    const Individual network = variation.develop(Individual(founder));
    EXPECT_EQ(network.blueprint().input_features, 2);
    EXPECT_EQ(network.blueprint().output_features, 1);
    EXPECT_TRUE(network.structure->genome().neuron_genes.empty());
    EXPECT_EQ(network, variation.develop(Individual(founder)));
}

TEST(HyperneatKind, ChainsOfChildrenDevelop) {
    const Variation variation = hyperneat_variation(R"({
        "node_add_rate": 0.5, "connection_add_rate": 0.5, "activation_rate": 0.2,
        "substrate": {"type": "evolved", "link_expression": true, "bias": true}})");
    Genome first = founder_number(variation, 0);
    Genome second = founder_number(variation, 1);
    for (BirthId id = 2; id < 60; ++id) {
        const std::array<const Genome*, 2> parents{&first, &second};
        const Birth birth{id, Recipe::vary, {{id - 2, 1.0, {}}, {id - 1, 0.5, {}}}};
        Genome child = variation.materialise(birth, parents).genome;
        check(child);
        check(genome_of(variation.develop(Individual(child))));
        first = std::exchange(second, std::move(child));
    }
    EXPECT_GT(head_of(second).neurons.size(), 3U);
}

TEST(HyperneatKind, FoundersMayPreferShortConnections) {
    const Variation variation = hyperneat_variation(
        R"({"substrate": {"inputs": {"nodes": [[-1, -1], [0.9, -1]]},
                          "outputs": {"nodes": [[1, 1]]},
                          "link_expression": true, "locality": ["x"]}})");
    for (BirthId id = 0; id < 4; ++id) {
        const Genome founder = founder_number(variation, id);
        check(founder);
        EXPECT_EQ(head_of(founder).neurons.size(), 3U);
        const Individual network = variation.develop(Individual(founder));
        const auto& connections = head_of(network.structure->genome()).connections;
        ASSERT_EQ(connections.size(), 1U) << "the other input is far";
        EXPECT_EQ(connections.front().source, 1);
    }
    EXPECT_NE(founder_number(variation, 0).weights, founder_number(variation, 1).weights);
}

TEST(HyperneatKind, RefusesOtherNetworks) {
    const auto kind = hyperneat_kind();
    const auto refused = [&](const Blueprint& network) {
        EXPECT_THAT([&] { static_cast<void>(kind->begin(network)); },
                    ThrowsMessage<ConfigError>(
                        HasSubstr("a CPPN draws the neurons and connections of the network")));
    };
    refused(testing::neuron_blueprint({.in = 2, .out = 1, .neurons = {{}, {}}, .connections = {}}));
    refused(testing::mixed_blueprint());
    EXPECT_THAT([&] { static_cast<void>(kind->adopt(founder_genome(neat_blueprint(2, 1), 0))); },
                ThrowsMessage<ConfigError>(HasSubstr("has 4 and 1")));
    const Neurons recurrent{.in = 4,
                            .out = 1,
                            .neurons = {{}},
                            .connections = {{.source = 4, .target = 0, .delay = 1}}};
    EXPECT_THAT(
        [&] {
            static_cast<void>(kind->adopt(founder_genome(testing::neuron_blueprint(recurrent), 0)));
        },
        ThrowsMessage<ConfigError>(HasSubstr("is no CPPN")));
}

}  // namespace
}  // namespace cambrian::evolve
