#include "cambrian/evolve/variation/graft/graft.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/network/builders/builders.hpp"
#include "cambrian/evolve/evaluation/evaluator.hpp"
#include "cambrian/tests/evolve/support/genome_support.hpp"

namespace cambrian::evolve {
namespace {

using ::testing::HasSubstr;

constexpr std::array all_combines{GraftCombine::concat, GraftCombine::add, GraftCombine::average,
                                  GraftCombine::filter};
constexpr std::int64_t rows = 5;

std::vector<float> outputs(const Genome& genome) {
    const auto backend = make_reference_backend(Precision::f64);
    RandomStream rng(random_key(9, "test.rows"), 0);
    std::vector<float> inputs(static_cast<std::size_t>(rows * genome.blueprint.input_features));
    for (float& input : inputs) input = rng.normal();
    const bool stateful = Network(genome.blueprint).stateful();
    return infer(*backend, genome, inputs, stateful ? 1 : rows, stateful ? rows : 0);
}

void expect_equal(const std::vector<float>& a, const std::vector<float>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i)
        EXPECT_NEAR(a[i], b[i], 1e-6F * (1.0F + std::abs(b[i]))) << i;
}

Genome dense(std::int64_t hidden, std::uint64_t seed, std::int64_t inputs = 3,
             std::int64_t results = 2) {
    return testing::founder(
        testing::blueprint(inputs, {{"dense", hidden, Activation::tanh}, {"dense", 4}}, results), 0,
        seed);
}

std::string refusal(const Genome& a, const Genome& b, const GraftSettings& settings) {
    try {
        static_cast<void>(graft(a, b, settings));
    } catch (const ConfigError& error) {
        return error.what();
    }
    return "nothing was refused";
}

TEST(Graft, OfWholeNetworksBeginsAsTheirCombination) {
    const Genome a = dense(6, 1);
    const Genome b = dense(5, 2);
    const std::vector<float> of_a = outputs(a);
    const std::vector<float> of_b = outputs(b);
    for (const GraftCombine combine : all_combines) {
        std::vector<float> expected;
        for (std::size_t i = 0; i < of_a.size(); ++i)
            expected.push_back(combine == GraftCombine::concat ? of_a[i]
                               : combine == GraftCombine::add  ? of_a[i] + of_b[i]
                                                               : 0.5F * (of_a[i] + of_b[i]));
        expect_equal(outputs(graft(a, b, {.combine = combine})), expected);
    }
}

TEST(Graft, ResidualAddsAsMuchAsItsGain) {
    const Genome a = dense(6, 1);
    const Genome b = dense(5, 2);
    const std::vector<float> of_a = outputs(a);
    const std::vector<float> of_b = outputs(b);
    expect_equal(outputs(graft(a, b, {.residual = true})), of_a);
    std::vector<float> expected = of_a;
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += 0.25F * of_b[i];
    expect_equal(outputs(graft(a, b, {.residual = true, .gain = 0.25F})), expected);
}

TEST(Graft, OfALayerIsBesideThatOfItsSlot) {
    const Genome a = dense(6, 1);
    const Genome b = dense(6, 2, 3, 7);  // Of another task: its first layer alone fits.
    const std::vector<float> of_a = outputs(a);
    expect_equal(outputs(graft(a, b, {.combine = GraftCombine::concat, .at = 0})), of_a);
    expect_equal(outputs(graft(a, b, {.residual = true, .at = 0, .from = 1})), of_a);
    // The slot that gives the sum of the layer with itself gives twice as much.
    const Genome twice = graft(a, a, {.combine = GraftCombine::add, .at = 1});
    Genome doubled = a;
    const Network network(a.blueprint);
    for (const WeightRange& range : network.weights())
        if (range.slot == 1)
            for (std::int64_t i = 0; i < range.count; ++i)
                doubled.weights[static_cast<std::size_t>(range.offset + i)] *= 2.0F;
    expect_equal(outputs(twice), outputs(doubled));
    // Averaged with itself a layer is what it was.
    for (const GraftCombine combine : {GraftCombine::average, GraftCombine::filter})
        expect_equal(outputs(graft(a, a, {.combine = combine, .at = 0})), of_a);
}

TEST(Graft, CopiesWeightsAndLeavesItsParentsAlone) {
    const Genome a = dense(6, 1);
    const Genome b = dense(5, 2);
    const Genome before_a = a;
    const Genome before_b = b;
    Genome child = graft(a, b, {});
    for (float& weight : child.weights) weight = 0.0F;
    EXPECT_EQ(a, before_a);
    EXPECT_EQ(b, before_b);
}

TEST(Graft, GenesOfTheStockStayAndEqualGraftsGetEqualIds) {
    const Genome a = dense(6, 1);
    const Genome b = dense(6, 2);
    const Genome child = graft(a, b, {.at = 0});
    EXPECT_EQ(child.slot_genes[1], a.slot_genes[1]);
    EXPECT_EQ(child.head_gene, a.head_gene);
    EXPECT_NE(child.slot_genes[0].id, a.slot_genes[0].id);
    EXPECT_EQ(child.slot_genes[0], graft(a, b, {.at = 0}).slot_genes[0]);
    EXPECT_NE(child.slot_genes[0],
              graft(a, b, {.combine = GraftCombine::add, .at = 0}).slot_genes[0]);
    // Files take it as any other.
    EXPECT_EQ(decode_genome(encode(child), "child"), child);
}

TEST(Graft, WeightlessLayersAndDisabledSlotsHaveTheirPlaceInTheWeights) {
    Genome a = testing::founder(
        testing::blueprint(4, {{"dense", 4, Activation::tanh}, {"softmax", 4}, {}, {"dense", 4}},
                           2),
        0, 3);
    const Genome b = testing::founder(
        testing::blueprint(4, {{"dense", 4}, {"dense", 4, Activation::relu}}, 2), 0, 4);
    expect_equal(outputs(graft(a, b, {.combine = GraftCombine::concat, .at = 1})), outputs(a));
    expect_equal(outputs(graft(a, b, {.residual = true, .at = 1})), outputs(a));
    a.blueprint.slots[0]->enabled = false;
    expect_equal(outputs(graft(a, b, {.combine = GraftCombine::concat})), outputs(a));
    expect_equal(outputs(graft(b, a, {.residual = true})), outputs(b));
}

TEST(Graft, RefusesWhatDoesNotFit) {
    const Genome a = dense(6, 1);
    EXPECT_THAT(refusal(a, dense(6, 2, 4), {}), HasSubstr("rows that are read have the shape"));
    EXPECT_THAT(refusal(a, dense(6, 2, 3, 5), {}), HasSubstr("2 outputs in one and 5"));
    EXPECT_THAT(refusal(a, dense(5, 2), {.at = 0}), HasSubstr("rows that are given"));
    EXPECT_THAT(refusal(a, dense(5, 2), {.residual = true, .at = 0, .from = 1}),
                HasSubstr("reads 5 elements, and the first one's gives 6"));
    EXPECT_THAT(refusal(a, a, {.at = 7}), HasSubstr("has no layer in slot 7"));
    EXPECT_THAT(refusal(a, a, {.at = -1}), HasSubstr("has no layer in slot -1"));
    EXPECT_THAT(refusal(a, a, {.from = 1}), HasSubstr("name one of the first"));
    Genome linked = a;
    linked.blueprint.links = {{.source = input_port, .target = 1}};
    linked = testing::founder(linked.blueprint, 0, 5);
    EXPECT_THAT(refusal(linked, a, {}), HasSubstr("the first network has links"));
    EXPECT_THAT(refusal(a, linked, {}), HasSubstr("the second network has links"));
    // In a slot links do not matter.
    expect_equal(outputs(graft(linked, a, {.combine = GraftCombine::concat, .at = 1})),
                 outputs(linked));
    linked.blueprint.links.clear();
    linked.blueprint.mode = NetworkMode::mesh;
    linked = testing::founder(linked.blueprint, 0, 5);
    EXPECT_THAT(refusal(linked, a, {}), HasSubstr("is a mesh"));
}

TEST(Graft, WhateverIsDrawnIsRefusedOrRunsAndKeepsItsPromise) {
    int whole = 0;
    int slots = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        RandomNetwork settings_of_draw;
        settings_of_draw.max_links = 0;
        const auto drawn = [&](std::uint64_t id) {
            RandomStream rng(random_key(id, "test.graft"), id);
            const NetworkEnds ends{.input_features = 4,
                                   .output_features = 3,
                                   .input_shape = {4},
                                   .mode = NetworkMode::chain};
            return testing::founder(draw_network(rng, settings_of_draw, ends), 0, id);
        };
        const Genome a = drawn(seed);
        const Genome b = drawn(seed + 1000);
        for (const bool residual : {false, true})
            for (int at = -1; at < std::min(3, a.blueprint.grid.slots()); ++at) {
                GraftSettings settings{.residual = residual, .combine = GraftCombine::concat};
                if (at >= 0) settings.at = at;
                if (at >= 0) settings.from = 0;
                Genome child;
                try {
                    child = graft(a, b, settings);
                } catch (const ConfigError&) {
                    continue;
                }
                ++(at < 0 ? whole : slots);
                check(child);
                const std::vector<float> before = outputs(a);
                if (std::ranges::all_of(outputs(b), [](float x) { return std::isfinite(x); }) &&
                    Network(child.blueprint).stateful() == Network(a.blueprint).stateful())
                    expect_equal(outputs(child), before);
            }
    }
    EXPECT_GT(whole, 10);
    EXPECT_GT(slots, 10);
}

}  // namespace
}  // namespace cambrian::evolve
