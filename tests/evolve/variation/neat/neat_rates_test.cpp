#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cambrian/evolve/variation/neat/neat_mutation.hpp"
#include "cambrian/tests/evolve/support/neat_support.hpp"
#include "cambrian/tests/evolve/support/rates_support.hpp"

namespace cambrian::evolve::neat_rates_test {
namespace {

using testing::head_of;

constexpr std::size_t neurons = 4;
constexpr std::size_t connections = 5;

/// Two inputs, two outputs and two hidden neurons, with room for connections.
Genome parent_of_all() {
    Neurons layer{.in = 2, .out = 2, .neurons = {}, .connections = {}};
    layer.neurons.resize(neurons);
    layer.connections = {{.source = 0, .target = 2},
                         {.source = 1, .target = 3},
                         {.source = 4, .target = 0},
                         {.source = 5, .target = 1},
                         {.source = 0, .target = 1}};
    layer.continuous = true;
    layer.plastic = true;
    return testing::neat_founder(testing::neuron_blueprint(layer));
}

/// How many connections that both have differ in a flag and in nothing else; -1: one does.
int flips(const Neurons& before, const Neurons& after, bool Neurons::Connection::*flag) {
    int count = 0;
    for (std::size_t i = 0; i < std::min(before.connections.size(), after.connections.size());
         ++i) {
        Neurons::Connection restored = after.connections[i];
        count += restored.*flag != before.connections[i].*flag ? 1 : 0;
        restored.*flag = before.connections[i].*flag;
        if (restored != before.connections[i]) {
            return -1;
        }
    }
    return count;
}

std::int64_t connections_more(const Neurons& before, const Neurons& after) {
    return std::ssize(after.connections) - std::ssize(before.connections);
}

bool has_a_node_more(const Neurons& before, const Neurons& after) {
    return after.neurons.size() == before.neurons.size() + 1 &&
           connections_more(before, after) == 2 &&
           flips(before, after, &Neurons::Connection::enabled) == 1;
}

bool has_a_connection_more(const Neurons& before, const Neurons& after) {
    return after.neurons == before.neurons && connections_more(before, after) == 1 &&
           flips(before, after, &Neurons::Connection::enabled) == 0;
}

bool has_a_node_less(const Neurons& before, const Neurons& after) {
    return after.neurons.size() == before.neurons.size() - 1 && connections_more(before, after) < 0;
}

bool has_a_connection_less(const Neurons& before, const Neurons& after) {
    return after.neurons == before.neurons && connections_more(before, after) == -1;
}

template <bool Neurons::Connection::*flag>
bool has_one_flipped(const Neurons& before, const Neurons& after) {
    return after.neurons == before.neurons && connections_more(before, after) == 0 &&
           flips(before, after, flag) == 1;
}

/// Whether hidden neurons differ in one of their functions and in nothing else.
template <auto function>
bool has_another(const Neurons& before, const Neurons& after) {
    std::vector<Neurons::Neuron> restored = after.neurons;
    for (std::size_t i = 2; i < std::min(restored.size(), before.neurons.size()); ++i) {
        restored[i].*function = before.neurons[i].*function;
    }
    return after.connections == before.connections && restored == before.neurons;
}

/// A rate, how many draws it has in the parent, and what a child is like whom it hit.
struct NeatRate {
    const char* key;
    float NeatSettings::*rate;
    int draws;
    bool (*is_hit)(const Neurons& before, const Neurons& after);
};

constexpr std::array neat_rates{
    NeatRate{"node_add_rate", &NeatSettings::node_add_rate, 1, has_a_node_more},
    NeatRate{"connection_add_rate", &NeatSettings::connection_add_rate, 1, has_a_connection_more},
    NeatRate{"node_delete_rate", &NeatSettings::node_delete_rate, 1, has_a_node_less},
    NeatRate{"connection_delete_rate", &NeatSettings::connection_delete_rate, 1,
             has_a_connection_less},
    NeatRate{"connection_toggle_rate", &NeatSettings::connection_toggle_rate, 1,
             has_one_flipped<&Neurons::Connection::enabled>},
    NeatRate{"plastic_toggle_rate", &NeatSettings::plastic_toggle_rate, 1,
             has_one_flipped<&Neurons::Connection::plastic>},
    NeatRate{"activation_rate", &NeatSettings::activation_rate, 2,
             has_another<&Neurons::Neuron::activation>},
    NeatRate{"aggregation_rate", &NeatSettings::aggregation_rate, 2,
             has_another<&Neurons::Neuron::aggregation>},
};

/// How many of some births differ from their parent; each must be as `own` says.
int hits(const NeatRate& own, float rate, int births) {
    static const auto parent = std::make_shared<const Structure>(parent_of_all());
    NeatSettings settings;
    settings.activations = {NeuronActivation::sigmoid, NeuronActivation::tanh};
    settings.aggregations = {NeuronAggregation::sum, NeuronAggregation::max};
    for (const NeatRate& each : neat_rates) {
        settings.*each.rate = 0.0F;
    }
    settings.*own.rate = rate;
    const auto mutate = [&](RandomStream& rng, ChildPlan& child, std::uint64_t birth) {
        mutate_structure(rng, settings, child, birth);
    };
    return testing::differing(parent, "test.neat_rates", births, mutate,
                              [&](const Genome& before, const Genome& after) {
                                  return own.is_hit(head_of(before), head_of(after));
                              });
}

TEST(NeatRates, EachIsThatOfItsOperatorAlone) {
    testing::expect_own_rates(neat_rates, hits);
}

/// Values of a genome, and where they lie among its weights.
struct ValueGroup {
    const char* key;
    std::size_t first;
    std::size_t count;
};

constexpr std::array value_groups{
    ValueGroup{"weight", 0, connections},
    ValueGroup{"bias", connections, neurons},
    ValueGroup{"time_constant", connections + neurons, neurons},
    ValueGroup{"learning_rate", connections + 2 * neurons, neurons},
    ValueGroup{"rule", connections + 3 * neurons, 4 * neurons},
};

/// A kind whose children differ by what a test adds.
nlohmann::json still_genome() {
    nlohmann::json genome{{"weight_rate", 1}, {"node_add_rate", 0}, {"connection_add_rate", 0}};
    for (const ValueGroup& group : value_groups) {
        genome[group.key] = {{"perturb_rate", 0},
                             {"replace_rate", 0},
                             {"power", 0.01},
                             {"mean", 0.5},
                             {"deviation", 0.01}};
    }
    return genome;
}

Variation variation_of(const nlohmann::json& genome) {
    const GenomeContext context{.mutation = {}, .splice = {}, .limits = {.time = true}};
    VariationSettings settings{.founder = parent_of_all().blueprint,
                               .limits = context.limits,
                               .mutation = {},
                               .splice = {}};
    settings.kind = testing::neat_kind(genome.dump(), context);
    return {3, settings};
}

/// The weights of a child of a parent whose weights are all 0.75.
std::vector<float> child_weights(const Variation& variation, BirthId id) {
    static const Genome parent = [] {
        Genome genome = parent_of_all();
        std::ranges::fill(genome.weights, 0.75F);
        return genome;
    }();
    const Birth birth{.id = id, .recipe = Recipe::vary, .parents = {{.fitness = 1.0}}};
    return variation.materialise(birth, std::array{&parent}).genome.weights;
}

TEST(NeatRates, OfValuesReachTheirGroupAlone) {
    for (const ValueGroup& group : value_groups) {
        for (const bool afresh : {false, true}) {
            const std::string rate = afresh ? "replace_rate" : "perturb_rate";
            const float centre = afresh ? 0.5F : 0.75F;
            SCOPED_TRACE(std::string(group.key) + "." + rate);
            nlohmann::json genome = still_genome();
            genome[group.key][rate] = 1;
            const std::vector<float> child = child_weights(variation_of(genome), 5);
            ASSERT_EQ(child.size(), connections + 7 * neurons);
            for (std::size_t i = 0; i < child.size(); ++i) {
                const bool is_of_group = i >= group.first && i < group.first + group.count;
                EXPECT_EQ(child[i] != 0.75F, is_of_group) << i;
                EXPECT_NEAR(child[i], is_of_group ? centre : 0.75F, 0.1F) << i;
            }
        }
    }
}

TEST(NeatRates, OfWeightsIsThatOfChildrenThatDiffer) {
    nlohmann::json genome = still_genome();
    genome["weight"]["perturb_rate"] = 1;
    for (const float rate : {0.0F, 0.25F, 1.0F}) {
        genome["weight_rate"] = rate;
        const Variation variation = variation_of(genome);
        int differ = 0;
        for (BirthId id = 0; id < 400; ++id) {
            differ += child_weights(variation, id).front() != 0.75F ? 1 : 0;
        }
        EXPECT_NEAR(differ, 400.0F * rate, rate == 0.25F ? 40.0F : 0.0F);
    }
}

}  // namespace
}  // namespace cambrian::evolve::neat_rates_test
