#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "cambrian/evolve/genome/genome_layout.hpp"
#include "cambrian/evolve/variation/mutation.hpp"
#include "cambrian/evolve/variation/splice.hpp"
#include "cambrian/tests/evolve/support/genome_support.hpp"

namespace cambrian::evolve::weight_mutation_test {
namespace {

using testing::blueprint;
using testing::founder;
using testing::mixed_blueprint;

RandomStream stream(std::uint64_t id) {
    return {random_key(5, "test.mutation"), id};
}

TEST(Weights, RateIsPerGene) {
    const Genome parent = founder(mixed_blueprint());
    int changed = 0;
    int genes = 0;
    for (std::uint64_t id = 0; id < 200; ++id) {
        RandomStream rng = stream(id);
        Genome child = parent;
        mutate_weights(rng, {.weight_rate = 0.5F}, child);
        for (const GeneWeights& gene : gene_weights(parent.blueprint)) {
            const auto before = weights_of(parent, gene);
            const auto after = weights_of(child, gene);
            const auto same =
                std::inner_product(before.begin(), before.end(), after.begin(), 0, std::plus<>(),
                                   [](float a, float b) { return a == b ? 1 : 0; });
            EXPECT_TRUE(same == 0 || same == gene.count);
            changed += same == 0 ? 1 : 0;
            ++genes;
        }
    }
    EXPECT_NEAR(static_cast<double>(changed) / genes, 0.5, 0.08);
}

TEST(Weights, NoiseHasTheGivenPower) {
    Genome genome = founder(blueprint(40, {{"dense", 60}}, 40));
    const Genome parent = genome;
    RandomStream rng = stream(1);
    mutate_weights(rng, {.weight_rate = 1.0F, .weight_power = 0.3F}, genome);
    double sum = 0.0;
    double squares = 0.0;
    for (std::size_t i = 0; i < genome.weights.size(); ++i) {
        const double moved = static_cast<double>(genome.weights[i] - parent.weights[i]);
        sum += moved;
        squares += moved * moved;
    }
    const auto count = static_cast<double>(genome.weights.size());
    EXPECT_NEAR(sum / count, 0.0, 0.02);
    EXPECT_NEAR(std::sqrt(squares / count), 0.3, 0.02);
}

TEST(Weights, ReplacementDrawsInitialValues) {
    Genome genome = founder(blueprint(40, {{"dense", 60, Activation::relu}, {"rms_norm", 60}}, 4));
    std::fill(genome.weights.begin(), genome.weights.end(), 100.0F);
    RandomStream rng = stream(1);
    mutate_weights(rng, {.weight_rate = 0.0F, .weight_replace_rate = 0.25F}, genome);
    const Network network(genome.blueprint);
    std::int64_t replaced = 0;
    for (const WeightRange& range : network.weights()) {
        const bool spread = range.parameter.initial == Initial::weight;
        const double factor = range.parameter.activation == Activation::relu ? 6.0 : 3.0;
        const double bound = std::sqrt(factor / static_cast<double>(range.parameter.fan_in));
        for (std::int64_t i = range.offset; i < range.offset + range.count; ++i) {
            const auto weight = static_cast<double>(genome.weights[static_cast<std::size_t>(i)]);
            if (weight != 100.0) {
                ++replaced;
                EXPECT_TRUE(!spread || std::abs(weight) <= bound * 1.000001) << range.offset;
                EXPECT_TRUE(range.parameter.initial != Initial::ones || weight == 1.0);
                EXPECT_TRUE(range.parameter.initial != Initial::zeros || weight == 0.0);
            }
        }
    }
    EXPECT_NEAR(static_cast<double>(replaced) / static_cast<double>(genome.weights.size()), 0.25,
                0.03);
}

TEST(Weights, RunningStatisticsAreSplicedButNotMutated) {
    Blueprint description = blueprint(4, {{"batch_norm", 4}, {"dense", 4}}, 2);
    const Genome parent = founder(description);
    Genome child = parent;
    RandomStream rng = stream(3);
    mutate_weights(rng, {.weight_rate = 1.0F, .weight_replace_rate = 0.5F}, child);
    const Network network(description);
    for (std::size_t i = 0; i < network.weights().size(); ++i) {
        const WeightRange& range = network.weights()[i];
        for (std::int64_t k = range.offset; k < range.offset + range.count; ++k) {
            const auto at = static_cast<std::size_t>(k);
            EXPECT_TRUE(!range.parameter.buffer || child.weights[at] == parent.weights[at])
                << network.weight_name(i);
        }
    }
    EXPECT_NE(child.weights, parent.weights);
    Genome other = parent;
    other.weights[8] = 6.0F;  // the first running mean, 0 in the other parent
    const Genome spliced =
        splice(rng, {.mode = SpliceMode::point, .split = 0.0F}, parent, 1.0, other, 1.0);
    EXPECT_EQ(spliced.weights[8], 6.0F);
}

TEST(Weights, StayFinite) {
    Genome genome = founder(blueprint(4, {{"dense", 4}}, 2));
    for (std::uint64_t id = 0; id < 20; ++id) {
        RandomStream rng = stream(id);
        mutate_weights(rng, {.weight_rate = 1.0F, .weight_power = 3e38F}, genome);
    }
    check(genome);
}

TEST(Weights, TimeConstantsStayAboveZero) {
    const std::string layer = R"({"type": "neurons", "out": 6, "continuous": true})";
    const Blueprint network =
        blueprint_from_json(nlohmann::json::parse(R"({"layers": [)" + layer +
                                                  R"(, {"type": "sequential", "layers": [)" +
                                                  layer + R"(]}, {"type": "dense"}]})"),
                            3, 2, true);
    const Genome parent = founder(network);
    std::vector<bool> limited(parent.weights.size(), false);
    for (const GeneWeights& gene : gene_weights(parent.blueprint)) {
        std::int64_t first = gene.offset;
        for (const ParameterSpec& parameter : gene_parameters(parent.blueprint, gene)) {
            const std::int64_t count = parameter.shape.elements();
            for (std::int64_t i = 0; parameter.positive && i < count; ++i) {
                limited[static_cast<std::size_t>(first + i)] = true;
            }
            first += count;
        }
    }
    EXPECT_EQ(std::ranges::count(limited, true), 12);
    int changed = 0;
    for (std::uint64_t id = 0; id < 50; ++id) {
        RandomStream rng = stream(id);
        Genome child = parent;
        mutate_weights(
            rng, {.weight_rate = 0.5F, .weight_power = 2.0F, .weight_replace_rate = 0.1F}, child);
        for (std::size_t i = 0; i < limited.size(); ++i) {
            if (limited[i]) {
                EXPECT_GE(child.weights[i], 0.1F);
                EXPECT_LE(child.weights[i], 100.0F);
                changed += child.weights[i] != 1.0F ? 1 : 0;
            }
        }
    }
    EXPECT_GT(changed, 100);
}

}  // namespace
}  // namespace cambrian::evolve::weight_mutation_test
