#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "cambrian/evolve/variation/hyperneat/develop.hpp"
#include "cambrian/evolve/variation/hyperneat/square_division.hpp"
#include "cambrian/tests/evolve/support/hyperneat_support.hpp"

// Where ES-HyperNEAT finds hidden nodes.
namespace cambrian::evolve {
namespace {

using testing::at;
using testing::cppn;
using testing::head_of;
using Connection = Neurons::Connection;
using enum NeuronActivation;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Bells of width 1/4 around x = 1/4: of the place of the source, of that of the target, or both.
Individual stripes(float of_source, float of_target) {
    return cppn(4, 1, {{identity}, {gauss}, {gauss}},
                {{0, 1, 4.0F}, {2, 2, 4.0F}, {5, 0, of_source}, {6, 0, of_target}},
                {0.0F, -1.0F, -1.0F});
}

SubstrateSettings settings_of(const SubstrateSearch& search) {
    return {.type = SubstrateType::evolved,
            .inputs = at({{-1, -1}}),
            .outputs = at({{-1, 1}}),
            .search = search,
            .maximum_weight = 2.0,
            .weight_threshold = 0.0};
}

std::vector<SubstratePoint> places(const SubstrateSearch& search, const Individual& genotype,
                                   bool outgoing) {
    const Substrate substrate(settings_of(search), 1, 1, false);
    Cppn asked(substrate, genotype);
    SquareDivision division(substrate.settings().search, asked);
    std::vector<SubstratePoint> result;
    for (const SquareDivision::Found& found : division.find({-1, -1, 0}, outgoing)) {
        result.push_back(found.place);
    }
    return result;
}

constexpr SubstrateSearch two_deep{.initial_depth = 2, .maximum_depth = 2};

TEST(SquareDivision, FindsAStripe) {
    using Point = SubstratePoint;
    const auto stripe = ElementsAre(Point{0.25F, -0.75F, 0}, Point{0.25F, -0.25F, 0},
                                    Point{0.25F, 0.25F, 0}, Point{0.25F, 0.75F, 0});
    EXPECT_THAT(places(two_deep, stripes(0.0F, 1.0F), true), stripe);
    EXPECT_THAT(places(two_deep, stripes(1.0F, 0.0F), false), stripe);
    EXPECT_THAT(places(two_deep, stripes(1.0F, 0.0F), true), IsEmpty()) << "the same everywhere";
}

TEST(SquareDivision, LooksCloserWhereThePatternVaries) {
    using Point = SubstratePoint;
    const Individual genotype = stripes(0.0F, 1.0F);
    const auto quarters = ElementsAre(Point{0.5F, -0.5F, 0}, Point{0.5F, 0.5F, 0});
    SubstrateSearch search{.initial_depth = 1, .maximum_depth = 2};
    EXPECT_EQ(places(search, genotype, true).size(), 4U);
    search.division_threshold = 1.0;
    EXPECT_THAT(places(search, genotype, true), quarters) << "not divided again";
    search = two_deep;
    search.variance_threshold = 1.0;
    EXPECT_THAT(places(search, genotype, true), quarters) << "not looked into";
    search = two_deep;
    search.band_threshold = 0.99;
    EXPECT_THAT(places(search, genotype, true), IsEmpty());
}

Genome developed(const SubstrateSettings& settings, const Individual& genotype, bool time = false) {
    Genome network = genome_of(develop(Substrate(settings, 1, 1, time), genotype));
    check(network);
    return network;
}

TEST(SubstrateSearch, ConnectsWhatItFinds) {
    const Genome network = developed(settings_of(two_deep), stripes(1.0F, 1.0F));
    EXPECT_EQ(head_of(network).neurons.size(), 5U);
    EXPECT_THAT(
        head_of(network).connections,
        ElementsAre(Connection{.source = 0, .target = 1}, Connection{.source = 0, .target = 2},
                    Connection{.source = 0, .target = 3}, Connection{.source = 0, .target = 4},
                    Connection{.source = 2, .target = 0}, Connection{.source = 3, .target = 0},
                    Connection{.source = 4, .target = 0}, Connection{.source = 5, .target = 0}));
    EXPECT_NEAR(network.weights[0], 2.0F, 1e-5F);
}

TEST(SubstrateSearch, LeavesOutNodesThatReachNoOutput) {
    const Genome network = developed(settings_of(two_deep), stripes(0.0F, 1.0F));
    EXPECT_EQ(head_of(network).neurons.size(), 1U);
    EXPECT_THAT(head_of(network).connections, IsEmpty());
}

TEST(SubstrateSearch, LooksBackInARecurrentSubstrateAlone) {
    // Hidden nodes find each other: weights between nodes of the stripe are 1, others less.
    const Individual genotype = stripes(0.4F, 0.6F);
    SubstrateSettings settings = settings_of(two_deep);
    EXPECT_EQ(head_of(developed(settings, genotype)).connections.size(), 8U);
    settings.recurrent = true;
    const Genome network = developed(settings, genotype, true);
    EXPECT_EQ(head_of(network).connections.size(), 24U);
    EXPECT_EQ(head_of(network).connections[4], (Connection{2, 1, 1}));
    settings.search.iteration_level = 0;
    EXPECT_EQ(head_of(developed(settings, genotype, true)).connections.size(), 8U);
}

TEST(SubstrateSearch, StopsAtItsLimits) {
    SubstrateSearch search = two_deep;
    search.maximum_nodes = 3;
    EXPECT_EQ(head_of(developed(settings_of(search), stripes(1.0F, 1.0F))).neurons.size(), 4U);
    search = two_deep;
    search.maximum_connections = 5;
    const Genome network = developed(settings_of(search), stripes(1.0F, 1.0F));
    EXPECT_EQ(head_of(network).neurons.size(), 2U) << "one of four nodes reaches the output";
    EXPECT_EQ(head_of(network).connections.size(), 2U);
}

}  // namespace
}  // namespace cambrian::evolve
