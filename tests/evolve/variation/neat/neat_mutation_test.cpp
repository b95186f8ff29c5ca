#include "cambrian/evolve/variation/neat/neat_mutation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "cambrian/tests/evolve/support/genome_support.hpp"
#include "cambrian/tests/evolve/support/neat_support.hpp"

namespace cambrian::evolve {
namespace {

using testing::applied;
using ::testing::ElementsAre;
using testing::head_genes;
using testing::head_of;
using testing::neat_blueprint;
using testing::neat_founder;
using testing::neuron_blueprint;

RandomStream neat_stream(std::uint64_t id) {
    return {random_key(5, "test.neat"), id};
}

NeatSettings recurrent_settings() {
    NeatSettings settings;
    settings.feed_forward = false;
    return settings;
}

/// The first outcome of draws of an operator; fails where there is none.
Genome mutated_by(NeatMutation mutation, const NeatSettings& settings, const Genome& genome,
                  std::uint64_t first_draw = 0, std::uint64_t birth = 9) {
    for (std::uint64_t id = first_draw; id < first_draw + 200; ++id) {
        RandomStream rng = neat_stream(id);
        if (auto mutant = mutation(rng, settings, genome, birth)) {
            Genome child = applied(genome, *std::move(mutant));
            check(child);
            return child;
        }
    }
    ADD_FAILURE() << "no valid outcome";
    return genome;
}

TEST(NeatAddNode, SplitsAConnectionByHand) {
    const Genome parent = neat_founder(neat_blueprint(1, 1));
    const Genome child = mutated_by(add_node, {}, parent);
    using Connection = Neurons::Connection;
    EXPECT_THAT(
        head_of(child).connections,
        ElementsAre(Connection{.source = 0, .target = 0, .enabled = false},
                    Connection{.source = 0, .target = 1}, Connection{.source = 2, .target = 0}));
    EXPECT_EQ(head_of(child).neurons[1].activation, NeuronActivation::steep_sigmoid);
    // The old weight, 1 into the neuron, the old one out of it; the old bias and 0.
    EXPECT_THAT(child.weights, ElementsAre(0.5F, 1.0F, 0.5F, 1.5F, 0.0F));
    const Hash128 split = head_genes(parent).connections[0].id;
    const Hash128 neuron = historical_id(split, "add_node", "neurons", 0);
    EXPECT_EQ(head_genes(child).neurons[1], (Gene{neuron, 9}));
    EXPECT_EQ(head_genes(child).connections[2],
              (Gene{connection_id(neuron, head_genes(parent).neurons[0].id, 0), 9}));
    EXPECT_EQ(head_genes(child).connections[0], head_genes(parent).connections[0]);
}

TEST(NeatAddNode, KeepsTheFunctionWhereTheNeuronIsTheIdentity) {
    NeatSettings settings;
    settings.activations = {NeuronActivation::identity};
    Neurons layer{.in = 2, .out = 2, .neurons = {}, .connections = {}};
    for (const std::int64_t delay : {0, 2}) {
        layer.neurons.assign(2, {.activation = NeuronActivation::tanh});
        layer.connections = {{.source = 0, .target = 0, .delay = delay},
                             {.source = 1, .target = 1},
                             {.source = 3, .target = 0, .delay = delay}};
        Genome genome = neat_founder(neuron_blueprint(layer));
        for (float& weight : genome.weights) {
            weight *= 0.125F;
        }
        const auto backend = make_reference_backend(Precision::f64);
        const Tensor before = testing::run(*backend, genome);
        for (std::uint64_t step = 0; step < 12; ++step) {
            genome = mutated_by(add_node, settings, genome, 1000 * step);
            EXPECT_LE(testing::largest_difference(testing::run(*backend, genome), before), 1e-6);
        }
    }
}

TEST(NeatAddNode, CountsHowOftenAConnectionWasSplit) {
    Genome genome = mutated_by(add_node, {}, neat_founder(neat_blueprint(1, 1)));
    Neurons& layer = neurons_of(genome, genome.blueprint.grid.slots());
    const Hash128 split = head_genes(genome).connections[0].id;
    layer.connections[0].enabled = true;
    layer.connections[1].enabled = false;
    layer.connections[2].enabled = false;
    const Genome again = mutated_by(add_node, {}, genome);
    EXPECT_EQ(head_genes(again).neurons[2].id, historical_id(split, "add_node", "neurons", 1));
}

TEST(NeatAddNode, LeavesDisabledConnectionsAndConstants) {
    Neurons layer{.in = 1, .out = 1, .neurons = {{}}, .connections = {}};
    layer.connections = {{.source = 0, .target = 0, .enabled = false},
                         {.source = Neurons::constant, .target = 0}};
    const Genome genome = neat_founder(neuron_blueprint(layer));
    for (std::uint64_t id = 0; id < 50; ++id) {
        RandomStream rng = neat_stream(id);
        EXPECT_FALSE(add_node(rng, {}, genome, 1).has_value());
    }
}

/// Adds connections until draws find no more.
Genome saturated(const NeatSettings& settings, Genome genome) {
    for (std::uint64_t id = 0; id < 4000; ++id) {
        RandomStream rng = neat_stream(id);
        if (auto mutant = add_connection(rng, settings, genome, id)) {
            genome = applied(genome, *std::move(mutant));
            check(genome);
        }
    }
    return genome;
}

TEST(NeatAddConnection, FillsAFeedForwardGraphAndMakesNoCycle) {
    Neurons layer{.in = 2, .out = 1, .neurons = {}, .connections = {}};
    layer.neurons.resize(4);
    // One cycle would be closed by what is disabled alone.
    layer.connections = {{.source = 3, .target = 2, .enabled = false}, {.source = 4, .target = 0}};
    const Genome full = saturated({}, neat_founder(neuron_blueprint(layer)));
    // Every input to every neuron, and every pair of neurons in one order.
    EXPECT_EQ(head_of(full).connections.size(), 2U * 4U + 4U * 3U / 2U);
    for (const Neurons::Connection& each : head_of(full).connections) {
        EXPECT_EQ(each.delay, 0);
    }
    EXPECT_FALSE(Network(full.blueprint).stateful());
}

TEST(NeatAddConnection, LooksBackWhereItWouldCloseACycle) {
    Neurons layer{.in = 1, .out = 1, .neurons = {}, .connections = {}};
    layer.neurons.resize(2);
    layer.connections = {{.source = 0, .target = 1}, {.source = 2, .target = 0}};
    const Genome full = saturated(recurrent_settings(), neat_founder(neuron_blueprint(layer)));
    std::set<std::pair<std::int64_t, std::int64_t>> back;
    for (const Neurons::Connection& each : head_of(full).connections) {
        if (each.delay == 1) {
            back.emplace(each.source, each.target);
        }
    }
    EXPECT_THAT(back, ElementsAre(std::pair{1, 0}, std::pair{1, 1}, std::pair{2, 1}));
    EXPECT_TRUE(Network(full.blueprint).stateful());
}

TEST(NeatAddConnection, SkipsSteps) {
    NeatSettings settings = recurrent_settings();
    settings.delay_rate = 0.5F;
    settings.largest_delay = 3;
    const Genome full = saturated(settings, neat_founder(neat_blueprint(1, 1)));
    std::multiset<std::int64_t> delays;
    for (const Neurons::Connection& each : head_of(full).connections) {
        delays.insert(each.delay);
    }
    // From the input after 0 to 3 steps, from the output itself after 1 to 3.
    EXPECT_THAT(delays, ElementsAre(0, 1, 1, 2, 2, 3, 3));
}

TEST(NeatDelete, TakesTheWeightsOfWhatGoes) {
    Neurons layer{.in = 1, .out = 1, .neurons = {}, .connections = {}, .continuous = true};
    layer.neurons.resize(3);
    layer.connections = {{.source = 0, .target = 1},
                         {.source = 2, .target = 0},
                         {.source = 0, .target = 2},
                         {.source = 3, .target = 0},
                         {.source = 2, .target = 2}};
    Genome genome = neat_founder(neuron_blueprint(layer));
    for (std::uint64_t id = 0;; ++id) {
        const Genome child = mutated_by(delete_node, {}, genome, id);
        ASSERT_EQ(head_of(child).neurons.size(), 2U);
        if (head_genes(child).neurons[1].id != head_genes(genome).neurons[2].id) {
            continue;
        }
        // Neuron 1 went with connections 0, 1 and 4; neuron 2 is neuron 1 now.
        using Connection = Neurons::Connection;
        EXPECT_THAT(head_of(child).connections, ElementsAre(Connection{.source = 0, .target = 1},
                                                            Connection{.source = 2, .target = 0}));
        EXPECT_THAT(child.weights, ElementsAre(2.5F, 3.5F, 5.5F, 7.5F, 8.5F, 10.5F));
        break;
    }
    const Genome less = mutated_by(delete_connection, {}, genome);
    EXPECT_EQ(less.weights.size(), genome.weights.size() - 1);
    EXPECT_EQ(head_of(less).connections.size(), 4U);
    RandomStream rng = neat_stream(0);
    EXPECT_FALSE(delete_node(rng, {}, neat_founder(neat_blueprint(2, 3)), 1).has_value());
}

/// One plastic connection in continuous time: every parameter that a neuron can have.
Genome plastic_founder() {
    Neurons layer{.in = 1, .out = 1, .neurons = {}, .connections = {}, .continuous = true};
    layer.plastic = true;
    layer.neurons.resize(1);
    layer.connections = {{.source = 0, .target = 0, .plastic = true}};
    return neat_founder(neuron_blueprint(layer));
}

TEST(NeatPlastic, ANewNeuronHasARuleAndLeavesTheOthersAsTheyWere) {
    const NeatSettings settings{
        .time_constant = {.mean = 2.0F},
        .learning_rate = {.mean = 0.25F, .deviation = 0.0F},
        .rule = {.mean = 0.75F, .deviation = 0.0F},
    };
    const Genome genome = plastic_founder();
    ASSERT_EQ(genome.weights.size(), 8U);
    const Genome child = mutated_by(add_node, settings, genome);
    EXPECT_THAT(child.weights, ElementsAre(0.5F, 1.0F, 0.5F,  // connections
                                           1.5F, 0.0F, 2.5F, 2.0F, 3.5F, 0.25F, 4.5F, 0.75F, 5.5F,
                                           0.75F, 6.5F, 0.75F, 7.5F, 0.75F));
    using Connection = Neurons::Connection;
    EXPECT_THAT(head_of(child).connections,
                ElementsAre(Connection{.source = 0, .target = 0, .enabled = false, .plastic = true},
                            Connection{.source = 0, .target = 1},
                            Connection{.source = 2, .target = 0, .plastic = true}));
    const Genome back = mutated_by(delete_node, settings, child);
    EXPECT_EQ(back.weights, genome.weights);
}

TEST(NeatPlastic, NewConnectionsArePlasticAtTheirRate) {
    for (const float rate : {0.0F, 1.0F}) {
        const Genome child = mutated_by(
            add_connection, {.feed_forward = false, .plastic_rate = rate}, plastic_founder());
        EXPECT_EQ(head_of(child).connections.back().plastic, rate > 0.0F);
    }
    const Genome toggled = mutated_by(toggle_plastic, {}, plastic_founder());
    EXPECT_FALSE(head_of(toggled).connections[0].plastic);
    RandomStream rng = neat_stream(0);
    EXPECT_FALSE(toggle_plastic(rng, {}, neat_founder(neat_blueprint(2, 3)), 1).has_value());
}

TEST(NeatToggle, SwitchesOneConnection) {
    const Genome genome = neat_founder(neat_blueprint(3, 1));
    const Genome child = mutated_by(toggle_connection, {}, genome);
    int disabled = 0;
    for (const Neurons::Connection& each : head_of(child).connections) {
        disabled += each.enabled ? 0 : 1;
    }
    EXPECT_EQ(disabled, 1);
    EXPECT_EQ(child.weights, genome.weights);
}

TEST(NeatFunctions, ChangeInNeuronsThatAreNoOutputs) {
    NeatSettings settings;
    settings.activations = {NeuronActivation::sin, NeuronActivation::gauss};
    settings.aggregations = {NeuronAggregation::product, NeuronAggregation::maxabs};
    settings.activation_rate = 1.0F;
    settings.aggregation_rate = 1.0F;
    const Genome genome = mutated_by(add_node, {}, neat_founder(neat_blueprint(1, 1)));
    std::set<NeuronActivation> activations;
    std::set<NeuronAggregation> aggregations;
    for (std::uint64_t id = 0; id < 40; ++id) {
        const Genome child = mutated_by(mutate_functions, settings, genome, id);
        EXPECT_EQ(head_of(child).neurons[0], head_of(genome).neurons[0]);
        activations.insert(head_of(child).neurons[1].activation);
        aggregations.insert(head_of(child).neurons[1].aggregation);
    }
    EXPECT_EQ(activations.size(), 2U);
    EXPECT_EQ(aggregations.size(), 2U);
    RandomStream rng = neat_stream(0);
    EXPECT_FALSE(mutate_functions(rng, {}, genome, 1).has_value());
}

TEST(NeatIds, AreEqualForEqualMutationsOnRanksThatKnowNothingOfEachOther) {
    const Genome ancestor = neat_founder(neat_blueprint(2, 1));
    Genome left = ancestor;
    Genome right = ancestor;
    for (std::uint64_t step = 0; step < 40; ++step) {
        const NeatMutation mutation = step % 2 == 0 ? add_node : add_connection;
        left = mutated_by(mutation, {}, left, 300 * step, 100 + step);
        right = mutated_by(mutation, {}, right, 300 * step, 5000 + step);
    }
    ASSERT_EQ(left.blueprint, right.blueprint);
    for (std::size_t i = 0; i < head_genes(left).connections.size(); ++i) {
        EXPECT_EQ(head_genes(left).connections[i].id, head_genes(right).connections[i].id);
    }
    for (std::size_t i = 0; i < head_genes(left).neurons.size(); ++i) {
        EXPECT_EQ(head_genes(left).neurons[i].id, head_genes(right).neurons[i].id);
    }
    // The order in which two mutations came about does not matter either.
    const Genome both = mutated_by(add_node, {}, ancestor, 0);
    const std::size_t first = head_of(both).connections[0].enabled ? 1 : 0;
    EXPECT_EQ(head_genes(both).neurons[1].id,
              historical_id(head_genes(ancestor).connections[first].id, "add_node", "neurons", 0));
}

TEST(NeatMutate, CountsDrawsWithoutAnOutcome) {
    NeatSettings settings;
    settings.node_add_rate = 0.0F;
    settings.connection_add_rate = 1.0F;
    ChildPlan plan;
    plan.begin(std::make_shared<const Structure>(neat_founder(neat_blueprint(2, 1))));
    const SharedStructure before = plan.structure;
    RandomStream rng = neat_stream(3);
    mutate_structure(rng, settings, plan, 1);
    EXPECT_EQ(plan.retries, 20U);
    EXPECT_EQ(plan.structure, before);
}

}  // namespace
}  // namespace cambrian::evolve
