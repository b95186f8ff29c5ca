#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "cambrian/engine/network/bytecode/neuron_turns.hpp"
#include "cambrian/tests/support/neuron_networks.hpp"

namespace cambrian::neuron_turns_test {

using ::testing::ElementsAre;
using ::testing::Pair;
using enum NeuronActivation;

constexpr std::int64_t none = NeuronTurns::none;

/// The neurons of each turn, group by group.
std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> groups_of(
    const NeuronTurns& order) {
    std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> groups(1);
    for (const auto& [first, second, joins] : order.turns()) {
        groups.back().emplace_back(first, second);
        if (!joins) groups.emplace_back();
    }
    groups.pop_back();
    return groups;
}

Neurons with_connections(std::vector<Neurons::Connection> connections, std::size_t count) {
    Neurons layer;
    layer.in = 1;
    layer.out = 1;
    layer.neurons.assign(count, {.activation = tanh});
    layer.connections = std::move(connections);
    layer.resolve({1});
    return layer;
}

/// 1, 2 and 3 read the input, 4 reads 1 and what 5 was a step ago, 5 reads 1; 0 reads 2 to 5.
Neurons example() {
    Neurons layer = with_connections({{.source = 0, .target = 1},
                                      {.source = 0, .target = 2},
                                      {.source = 0, .target = 3},
                                      {.source = 2, .target = 4},
                                      {.source = 2, .target = 5},
                                      {.source = 6, .target = 4, .delay = 1},
                                      {.source = 3, .target = 0},
                                      {.source = 4, .target = 0},
                                      {.source = 5, .target = 0},
                                      {.source = 6, .target = 0}},
                                     6);
    layer.neurons[2].activation = relu;
    return layer;
}

TEST(NeuronTurns, AreOfTwoThatAreAlike) {
    const Neurons layer = example();
    const auto groups = groups_of(NeuronTurns(layer, NeuronPlan(layer)));
    EXPECT_THAT(groups, ElementsAre(ElementsAre(Pair(1, 3)), ElementsAre(Pair(2, none)),
                                    ElementsAre(Pair(4, 5)), ElementsAre(Pair(0, none))))
        << "2, which nobody waits for until the end, has nobody to go with at any time";
}

TEST(NeuronTurns, KeepPlasticNeuronsApart) {
    Neurons layer = example();
    layer.plastic = true;
    layer.connections[0].plastic = true;
    const NeuronTurns turns(layer, NeuronPlan(layer));
    for (const auto& [first, second, joins] : turns.turns())
        EXPECT_TRUE((first != 1 || second == none) && second != 1);
}

TEST(NeuronTurns, WaitUntilAnotherGoesWithThem) {
    // 4 and 5 read the input; 3 reads 4, 2 reads 3, 1 reads the input: it goes with 3, for which
    // it is in time. 0 reads 1, 2 and 5.
    const Neurons layer = with_connections({{.source = 0, .target = 4},
                                            {.source = 0, .target = 5},
                                            {.source = 0, .target = 1},
                                            {.source = 5, .target = 3},
                                            {.source = 4, .target = 2},
                                            {.source = 2, .target = 0},
                                            {.source = 3, .target = 0},
                                            {.source = 6, .target = 0}},
                                           6);
    EXPECT_THAT(groups_of(NeuronTurns(layer, NeuronPlan(layer))),
                ElementsAre(ElementsAre(Pair(4, 1)), ElementsAre(Pair(3, 5)),
                            ElementsAre(Pair(2, none)), ElementsAre(Pair(0, none))));
}

TEST(NeuronTurns, FitByTheirInputs) {
    constexpr bool sums = true;
    EXPECT_TRUE(NeuronTurns::fit(3, 3, 1, !sums));
    EXPECT_TRUE(NeuronTurns::fit(4, 2, 1, sums));
    EXPECT_FALSE(NeuronTurns::fit(4, 2, 1, !sums));
    EXPECT_FALSE(NeuronTurns::fit(4, 3, 1, sums));
    EXPECT_FALSE(NeuronTurns::fit(5, 0, 1, sums));
    EXPECT_TRUE(NeuronTurns::fit(2, 2, 2, !sums));
    EXPECT_FALSE(NeuronTurns::fit(3, 1, 2, !sums));
}

TEST(NeuronTurns, DoNotWaitForWhoGoesAlone) {
    // 0 to 4 have 3, 1, 2, 1 and 4 inputs; where continuous, 0 and 4 never fit. 4 reads 0 and 3,
    // 1 reads 0, 3 reads 2.
    Neurons layer = with_connections({{.source = 0, .target = 0},
                                      {.source = -1, .target = 0},
                                      {.source = 0, .target = 0, .delay = 1},
                                      {.source = 1, .target = 1},
                                      {.source = 0, .target = 2},
                                      {.source = -1, .target = 2},
                                      {.source = 3, .target = 3},
                                      {.source = 1, .target = 4},
                                      {.source = 4, .target = 4},
                                      {.source = 0, .target = 4},
                                      {.source = -1, .target = 4}},
                                     5);
    layer.out = 5;
    layer.continuous = true;
    EXPECT_EQ(NeuronTurns(layer, NeuronPlan(layer)).turns().size(), 4U);
}

/// What NeuronTurns promises, of any network. → turns, groups, and the longest chain.
std::array<std::size_t, 3> check(const Neurons& layer) {
    const NeuronPlan plan(layer);
    const NeuronTurns order(layer, plan);
    std::vector<std::size_t> group(layer.neurons.size(), SIZE_MAX);
    std::size_t groups = 0;
    std::size_t neurons = 0;
    const auto same = [&](std::int64_t a, std::int64_t b) {
        return layer.neurons[static_cast<std::size_t>(a)] ==
                   layer.neurons[static_cast<std::size_t>(b)] &&
               plan.changes(layer, a) == plan.changes(layer, b);
    };
    for (std::size_t i = 0; i < order.turns().size(); ++i) {
        const auto& [first, second, joins] = order.turns()[i];
        for (const std::int64_t neuron : {first, second}) {
            if (neuron == none) continue;
            EXPECT_TRUE(same(first, neuron));
            EXPECT_EQ(group[static_cast<std::size_t>(neuron)], SIZE_MAX) << "twice";
            group[static_cast<std::size_t>(neuron)] = groups;
            ++neurons;
        }
        if (second != none) {
            EXPECT_FALSE(plan.changes(layer, first));
            EXPECT_TRUE(
                NeuronTurns::fit(std::ssize(plan.inputs(first)), std::ssize(plan.inputs(second)),
                                 layer.continuous ? 2 : 1,
                                 layer.neurons[static_cast<std::size_t>(first)].aggregation ==
                                         NeuronAggregation::sum &&
                                     !layer.continuous));
        }
        if (joins) {
            const auto& next = order.turns().at(i + 1);
            EXPECT_TRUE(same(first, next.first));
            EXPECT_TRUE(second != none || next.second == none) << "those of two come first";
        } else {
            ++groups;
        }
    }
    EXPECT_EQ(neurons, plan.order.size());
    std::vector<std::size_t> chain(layer.neurons.size(), 1);
    std::size_t longest = 0;
    for (const std::int64_t neuron : plan.order) {
        for (const std::int64_t input : plan.inputs(neuron)) {
            const auto& from = layer.connections[static_cast<std::size_t>(input)];
            if (from.delay > 0 || from.source < layer.in) continue;
            const auto source = static_cast<std::size_t>(from.source - layer.in);
            EXPECT_LT(group[source], group[static_cast<std::size_t>(neuron)]);
            chain[static_cast<std::size_t>(neuron)] =
                std::max(chain[static_cast<std::size_t>(neuron)], chain[source] + 1);
        }
        longest = std::max(longest, chain[static_cast<std::size_t>(neuron)]);
    }
    return {order.turns().size(), groups, longest};
}

TEST(NeuronTurns, OfRandomNetworks) {
    const test::NeuronDraw large{
        .in = 4, .out = 2, .max_hidden = 54, .max_inputs = 4, .all_live = true};
    const std::array draws{
        large, test::NeuronDraw{.in = 3, .out = 2, .max_hidden = 30, .max_inputs = 9},
        test::NeuronDraw{.max_hidden = 30, .every_function = true, .delayed = 0.3F},
        test::NeuronDraw{.max_hidden = 20, .delayed = 0.3F, .continuous = true},
        test::NeuronDraw{.max_hidden = 20, .plastic = 0.4F}};
    for (const test::NeuronDraw& draw : draws)
        for (std::uint64_t i = 0; i < 200; ++i) {
            RandomStream rng(random_key(41, "neuron turns"), i);
            const auto [turns, groups, longest] = check(test::random_neurons(draw, rng));
            if (&draw == &draws.front()) {
                EXPECT_EQ(groups, longest) << "one kind, no group more";
            }
        }
}

TEST(NeuronTurns, AreFewInLargeNetworks) {
    std::size_t turns = 0;
    std::size_t neurons = 0;
    for (std::uint64_t i = 0; i < 100; ++i) {
        RandomStream rng(random_key(43, "neuron turns"), i);
        const Neurons layer = test::random_neurons({.in = 4,
                                                    .out = 2,
                                                    .min_hidden = 54,
                                                    .max_hidden = 54,
                                                    .max_inputs = 4,
                                                    .all_live = true},
                                                   rng);
        turns += check(layer)[0];
        neurons += layer.neurons.size();
    }
    EXPECT_LT(static_cast<double>(turns), 0.6 * static_cast<double>(neurons));
}

TEST(NeuronTurns, OfAWideNetworkAreFoundSoon) {
    std::vector<Neurons::Connection> connections;
    constexpr std::int64_t width = 20'000;
    for (std::int64_t i = 1; i <= width; ++i) {
        connections.push_back({.source = 0, .target = i});
        connections.push_back({.source = 1 + i, .target = 0});
    }
    const auto [turns, groups, longest] =
        check(with_connections(std::move(connections), width + 1));
    EXPECT_EQ(turns, static_cast<std::size_t>(width / 2 + 1));
    EXPECT_EQ(groups, 2U);
    EXPECT_EQ(longest, 2U);
}

// Beside a long chain, neurons of four inputs that fit no other: few wait, the others go alone at
// once.
TEST(NeuronTurns, OfAWideAndDeepNetworkAreFoundSoon) {
    std::vector<Neurons::Connection> connections;
    constexpr std::int64_t size = 4'000;
    for (std::int64_t i = 1; i <= size; ++i) {
        for (std::int64_t delay = 0; delay < 4; ++delay)
            connections.push_back({.source = 0, .target = i, .delay = delay});
        connections.push_back({.source = 1 + i, .target = 0});
    }
    for (std::int64_t i = size + 1; i <= 2 * size; ++i) {
        for (std::int64_t delay = 1; delay < 5; ++delay)
            connections.push_back({.source = 0, .target = i, .delay = delay});
        connections.push_back({.source = i == size + 1 ? 0 : i, .target = i});
    }
    connections.push_back({.source = 1 + 2 * size, .target = 0});
    const Neurons layer = with_connections(std::move(connections), 2 * size + 1);
    const auto [turns, groups, longest] = check(layer);
    EXPECT_EQ(turns, static_cast<std::size_t>(2 * size + 1)) << "nobody goes with anybody";
    EXPECT_EQ(groups, longest);
    EXPECT_EQ(std::ssize(groups_of(NeuronTurns(layer, NeuronPlan(layer)))[0]), size - 64 + 1);
}

}  // namespace cambrian::neuron_turns_test
