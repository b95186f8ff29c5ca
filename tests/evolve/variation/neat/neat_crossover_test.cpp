#include "cambrian/evolve/variation/neat/neat_crossover.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "cambrian/evolve/genome/distance.hpp"
#include "cambrian/tests/evolve/support/neat_support.hpp"

namespace cambrian::evolve {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using testing::head_genes;
using testing::head_of;
using testing::neuron_blueprint;

RandomStream crossover_stream(std::uint64_t id) {
    return {random_key(5, "test.crossover"), id};
}

/// Two relatives by hand. Both have the connections 0 → out and 1 → out; the first one a neuron
/// besides, with three connections, born 10; the other one a connection of the output to itself,
/// born 20.
struct Relatives {
    Genome first;
    Genome second;
};

Relatives relatives() {
    Neurons layer{.in = 2, .out = 1, .neurons = {{}}, .connections = {}};
    layer.connections = {{.source = 0, .target = 0}, {.source = 1, .target = 0}};
    Genome second = testing::neat_founder(neuron_blueprint(layer));
    layer.neurons.push_back({.activation = NeuronActivation::gauss});
    layer.connections.push_back({.source = 0, .target = 1});
    layer.connections.push_back({.source = 1, .target = 1});
    layer.connections.push_back({.source = 3, .target = 0});
    Genome first = testing::neat_founder(neuron_blueprint(layer));
    for (std::size_t i = 2; i < 5; ++i) {
        first.neuron_genes[0].connections[i].born = 10;
    }
    first.neuron_genes[0].neurons[1].born = 10;

    neurons_of(second, second.blueprint.grid.slots())
        .connections.push_back({.source = 2, .target = 0, .delay = 1});
    const Hash128 output = head_genes(second).neurons[0].id;
    second.neuron_genes[0].connections.push_back({connection_id(output, output, 1), 20});
    second.weights = {100.0F, 101.0F, 102.0F, 103.0F};
    check(first);
    check(second);
    return {first, second};
}

Genome crossed(const Genome& first, double first_fitness, const Genome& second,
               double second_fitness, const NeatSettings& settings, std::uint64_t draw,
               SharedStructure* structure = nullptr) {
    ChildPlan plan;
    const auto other = std::make_shared<const Structure>(second);
    plan.begin(std::make_shared<const Structure>(first));
    RandomStream rng = crossover_stream(draw);
    cross(rng, settings, plan, first_fitness, other, second_fitness);
    Genome child = plan.structure->genome();
    write_weights(plan, first.weights, second.weights, child.weights);
    check(child);
    if (structure != nullptr) {
        *structure = plan.structure;
    }
    return child;
}

TEST(NeatDistance, IsAsByHand) {
    const auto [first, second] = relatives();
    // Matching: two connections and the output. The neuron with its three connections is disjoint
    // (born 10, the other one's youngest gene 20), the delayed connection excess (20 after 10).
    const DistanceSettings excess{.excess = 1.0, .disjoint = 0.0, .weight = 0.0};
    const DistanceSettings disjoint{.excess = 0.0, .disjoint = 1.0, .weight = 0.0};
    const DistanceSettings weight{.excess = 0.0, .disjoint = 0.0, .weight = 1.0};
    EXPECT_EQ(distance(first, second, excess), 1.0);
    EXPECT_EQ(distance(first, second, disjoint), 4.0);
    // Weights .5 and 100, 1.5 and 101, and the biases 5.5 and 103.
    EXPECT_DOUBLE_EQ(distance(first, second, weight), (99.5 + 99.5 + 97.5) / 3.0);
}

TEST(NeatCrossover, TakesUnmatchedGenesFromTheFitterParent) {
    const auto [first, second] = relatives();
    std::set<float> connection;
    std::set<float> bias;
    for (std::uint64_t draw = 0; draw < 40; ++draw) {
        const Genome child = crossed(first, 2.0, second, 1.0, {}, draw);
        EXPECT_EQ(child.blueprint, first.blueprint);
        EXPECT_EQ(child.neuron_genes, first.neuron_genes);
        connection.insert(child.weights[0]);
        bias.insert(child.weights[5]);
        EXPECT_THAT(std::vector(child.weights.begin() + 2, child.weights.begin() + 5),
                    ElementsAre(2.5F, 3.5F, 4.5F));
        EXPECT_EQ(child.weights[6], 6.5F);
        const Genome other = crossed(second, 2.0, first, 1.0, {}, draw);
        EXPECT_EQ(other.blueprint, second.blueprint);
        EXPECT_EQ(other.weights[2], 102.0F);
        EXPECT_TRUE(other.weights[3] == 103.0F || other.weights[3] == 5.5F);
    }
    EXPECT_THAT(connection, ElementsAre(0.5F, 100.0F));
    EXPECT_THAT(bias, ElementsAre(5.5F, 103.0F));
}

TEST(NeatCrossover, OfEquallyFitTheSmallerOneLeads) {
    const auto [first, second] = relatives();
    EXPECT_EQ(crossed(first, 1.0, second, 1.0, {}, 1).blueprint, second.blueprint);
    EXPECT_EQ(crossed(second, 1.0, first, 1.0, {}, 1).blueprint, second.blueprint);
    std::set<float> weights;
    for (std::uint64_t draw = 0; draw < 40; ++draw) {
        weights.insert(crossed(first, 1.0, second, 1.0, {}, draw).weights[1]);
    }
    EXPECT_THAT(weights, ElementsAre(1.5F, 101.0F));
}

TEST(NeatCrossover, AveragesMatchingGenes) {
    const auto [first, second] = relatives();
    NeatSettings settings;
    settings.average_rate = 1.0F;
    EXPECT_THAT(crossed(first, 2.0, second, 1.0, settings, 1).weights,
                ElementsAre(50.25F, 51.25F, 2.5F, 3.5F, 4.5F, 54.25F, 6.5F));
    EXPECT_THAT(crossed(first, 1.0, second, 1.0, settings, 1).weights,
                ElementsAre(50.25F, 51.25F, 102.0F, 54.25F));
}

/// Of a child whose genes are all averaged; the first parent is the fitter one.
ChildPlan averaging_plan(RandomStream& rng, const Genome& first, const Genome& second) {
    NeatSettings settings;
    settings.average_rate = 1.0F;
    ChildPlan plan;
    plan.begin(std::make_shared<const Structure>(first));
    cross(rng, settings, plan, 2.0, std::make_shared<const Structure>(second), 1.0);
    return plan;
}

TEST(NeatCrossover, NoiseOnAveragesIsThatOnOtherWeights) {
    const auto [first, second] = relatives();
    RandomStream rng = crossover_stream(0);
    ChildPlan plan = averaging_plan(rng, first, second);
    ASSERT_TRUE(plan.needs_host()) << "devices know no averages";
    // As layers that are not of neurons have it.
    plan.draws.noise = rng.field();
    plan.draws.noise_power = 1.0F;
    for (WeightPiece& piece : plan.pieces) {
        piece.noise = true;
    }
    std::vector<float> expected{50.25F, 51.25F, 2.5F, 3.5F, 4.5F, 54.25F, 6.5F};
    std::vector<float> noise(expected.size());
    plan.draws.noise.fill_normal(0, noise);
    for (std::size_t i = 0; i < noise.size(); ++i) {
        expected[i] += noise[i];
    }
    std::vector<float> weights;
    write_weights(plan, first.weights, second.weights, weights);
    EXPECT_THAT(weights, ElementsAreArray(expected));
}

TEST(NeatCrossover, TakesANeuronAsAWhole) {
    Neurons layer{.in = 1, .out = 1, .neurons = {}, .connections = {}, .continuous = true};
    layer.neurons.resize(2);
    layer.connections = {{.source = 0, .target = 1}, {.source = 2, .target = 0}};
    const Genome first = testing::neat_founder(neuron_blueprint(layer));
    layer.neurons[1] = {.activation = NeuronActivation::sin,
                        .aggregation = NeuronAggregation::product};
    Genome second = testing::neat_founder(neuron_blueprint(layer));
    for (float& weight : second.weights) {
        weight += 100.0F;
    }
    std::set<float> biases;
    for (std::uint64_t draw = 0; draw < 40; ++draw) {
        const Genome child = crossed(first, 2.0, second, 1.0, {}, draw);
        const bool other = child.weights[3] > 50.0F;
        biases.insert(child.weights[3]);
        EXPECT_EQ(child.weights[5], other ? 105.5F : 5.5F);
        EXPECT_EQ(head_of(child).neurons[1], head_of(other ? second : first).neurons[1]);
    }
    EXPECT_EQ(biases.size(), 2U);
}

TEST(NeatCrossover, TakesRulesWithNeuronsAndPlasticityWithWeights) {
    Neurons layer{.in = 1, .out = 1, .neurons = {}, .connections = {}};
    layer.plastic = true;
    layer.neurons.resize(1);
    layer.connections = {{.source = 0, .target = 0}};
    const Genome first = testing::neat_founder(neuron_blueprint(layer));
    layer.connections[0].plastic = true;
    Genome second = testing::neat_founder(neuron_blueprint(layer));
    for (float& weight : second.weights) {
        weight += 100.0F;
    }
    std::set<std::pair<bool, bool>> found;
    for (std::uint64_t draw = 0; draw < 60; ++draw) {
        const Genome child = crossed(first, 2.0, second, 1.0, {}, draw);
        const bool weight = child.weights[0] > 50.0F;
        const bool neuron = child.weights[1] > 50.0F;
        found.insert({weight, neuron});
        EXPECT_EQ(head_of(child).connections[0].plastic, weight);
        for (std::size_t i = 2; i < 7; ++i) {
            EXPECT_EQ(child.weights[i] > 50.0F, neuron);
        }
    }
    EXPECT_EQ(found.size(), 4U);
}

TEST(NeatCrossover, DisablesAtTheRateWhatAParentHasDisabled) {
    const auto [first, second] = relatives();
    Genome disabled = second;
    neurons_of(disabled, disabled.blueprint.grid.slots()).connections[1].enabled = false;
    NeatSettings settings;
    int off = 0;
    for (std::uint64_t draw = 0; draw < 400; ++draw) {
        for (const auto& [a, b] : {std::pair{first, disabled}, {disabled, first}}) {
            off += head_of(crossed(a, 2.0, b, 1.0, settings, draw)).connections[1].enabled ? 0 : 1;
        }
    }
    EXPECT_NEAR(off, 600, 50);
    settings.disabled_rate = 0.0F;
    EXPECT_TRUE(head_of(crossed(disabled, 2.0, disabled, 1.0, settings, 1)).connections[1].enabled);
}

TEST(NeatCrossover, SharesTheStructureThatDoesNotChange) {
    const auto [first, second] = relatives();
    ChildPlan plan;
    const auto leader = std::make_shared<const Structure>(first);
    plan.begin(leader);
    RandomStream rng = crossover_stream(0);
    cross(rng, {}, plan, 2.0, std::make_shared<const Structure>(second), 1.0);
    EXPECT_EQ(plan.structure, leader);
}

TEST(NeatCrossover, ThenAddsANodeWithTheWeightOfTheChild) {
    const auto [first, second] = relatives();
    RandomStream rng = crossover_stream(0);
    ChildPlan plan = averaging_plan(rng, first, second);
    Mutant mutant{plan.structure->genome()};
    // A weight that is averaged, copied to after the last connection, as a split does it.
    Neurons& layer = neurons_of(mutant.genome, mutant.genome.blueprint.grid.slots());
    layer.connections.push_back({.source = 0, .target = 0, .delay = 1});
    mutant.genome.neuron_genes[0].connections.push_back({hash128({}), 30});
    mutant.edits.push_back({5, 0, {}, 1});
    static_cast<void>(plan.become(std::move(mutant)));
    std::vector<float> weights;
    write_weights(plan, first.weights, second.weights, weights);
    EXPECT_THAT(weights, ElementsAre(50.25F, 51.25F, 2.5F, 3.5F, 4.5F, 51.25F, 54.25F, 6.5F));
}

}  // namespace
}  // namespace cambrian::evolve
