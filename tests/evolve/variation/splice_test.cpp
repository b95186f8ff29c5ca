#include "cambrian/evolve/variation/splice.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "cambrian/evolve/genome/genome_layout.hpp"
#include "cambrian/evolve/variation/mutation.hpp"
#include "cambrian/tests/evolve/support/genome_support.hpp"
#include "cambrian/tests/support/network_run.hpp"

namespace cambrian::evolve::splice_test {
namespace {

using testing::blueprint;
using testing::founder;
using testing::mixed_blueprint;

RandomStream stream(std::uint64_t id = 0) {
    return {random_key(11, "test.splice"), id};
}

/// Two relatives: the second is the first with noise, so that their genes are alike.
struct Family {
    Genome a = founder(mixed_blueprint());
    Genome b = a;
    Family() {
        RandomStream rng = stream(99);
        mutate_weights(rng, {.weight_rate = 1.0F, .weight_power = 0.1F}, b);
    }
};

Genome child_of(const Family& family, const SpliceSettings& settings, double fitness_a,
                double fitness_b, SpliceReport* report = nullptr) {
    RandomStream rng = stream();
    return splice(rng, settings, family.a, fitness_a, family.b, fitness_b, report);
}

/// How much of b is in the child, averaged over weights.
double share_of_other(const Family& family, const Genome& child) {
    double sum = 0.0;
    for (std::size_t i = 0; i < child.weights.size(); ++i) {
        sum += static_cast<double>(child.weights[i] - family.a.weights[i]) /
               static_cast<double>(family.b.weights[i] - family.a.weights[i]);
    }
    return sum / static_cast<double>(child.weights.size());
}

TEST(FitnessLead, IsBoundedForEveryFiniteFitness) {
    EXPECT_EQ(fitness_lead(2.0, 2.0), 0.0);
    EXPECT_EQ(fitness_lead(0.0, 0.0), 0.0);
    EXPECT_NEAR(fitness_lead(3.0, 1.0), 0.5, 1e-12);
    EXPECT_NEAR(fitness_lead(-1.0, -3.0), 0.5, 1e-12);
    EXPECT_NEAR(fitness_lead(3.0, -1.0), 1.0, 1e-12);
    EXPECT_NEAR(fitness_lead(1.0, 0.0), 1.0, 1e-12);
    const double largest = std::numeric_limits<double>::max();
    EXPECT_NEAR(fitness_lead(largest, -largest), 1.0, 1e-12);
    const double tiny = std::numeric_limits<double>::denorm_min();
    EXPECT_NEAR(fitness_lead(tiny, 0.0), 1.0, 1e-12);
}

TEST(FitnessLead, IsInfiniteOverWorstFitness) {
    const double infinity = std::numeric_limits<double>::infinity();
    EXPECT_EQ(fitness_lead(1.0, -infinity), infinity);
    EXPECT_EQ(fitness_lead(1.0, std::numeric_limits<double>::quiet_NaN()), infinity);
    EXPECT_EQ(fitness_lead(-infinity, -infinity), 0.0);
}

TEST(Splice, EqualParentsGiveTheSameChild) {
    const Genome parent = founder(mixed_blueprint());
    for (const SpliceMode mode : {SpliceMode::blend, SpliceMode::point, SpliceMode::uniform}) {
        RandomStream rng = stream();
        EXPECT_EQ(splice(rng, {.mode = mode}, parent, 1.0, parent, 0.3), parent) << name(mode);
    }
}

TEST(Splice, BlendIsSymmetricAtEqualFitness) {
    const Family family;
    RandomStream rng = stream();
    const Genome one = splice(rng, {}, family.a, -2.0, family.b, -2.0);
    const Genome two = splice(rng, {}, family.b, -2.0, family.a, -2.0);
    for (std::size_t i = 0; i < one.weights.size(); ++i) {
        const double middle =
            0.5 * static_cast<double>(one.weights[i]) + 0.5 * static_cast<double>(two.weights[i]);
        EXPECT_NEAR(middle,
                    0.5 * static_cast<double>(family.a.weights[i]) +
                        0.5 * static_cast<double>(family.b.weights[i]),
                    1e-6);
    }
    EXPECT_NEAR(share_of_other(family, one), 0.5, 0.05);
}

TEST(Splice, ShareFallsAsTheFitterLeads) {
    const Family family;
    for (const SpliceMode mode : {SpliceMode::blend, SpliceMode::uniform}) {
        const SpliceSettings settings{.mode = mode};
        const double equal = share_of_other(family, child_of(family, settings, 1.0, 1.0));
        const double ahead = share_of_other(family, child_of(family, settings, 3.0, 1.0));
        const double far = share_of_other(family, child_of(family, settings, 3.0, -1.0));
        EXPECT_GT(equal, ahead) << name(mode);
        EXPECT_GT(ahead, far) << name(mode);
        EXPECT_GT(far, 0.1) << name(mode);
    }
}

TEST(Splice, NegativeFitnessLeansToTheFitterToo) {
    const Family family;
    const double losses = share_of_other(family, child_of(family, {}, -0.1, -0.3));
    const double gains = share_of_other(family, child_of(family, {}, 0.3, 0.1));
    EXPECT_NEAR(losses, gains, 1e-6);
    EXPECT_LT(losses, 0.45);
}

TEST(Splice, AnInvalidParentGivesNothing) {
    const Family family;
    const double nothing = -std::numeric_limits<double>::infinity();
    EXPECT_EQ(child_of(family, {}, 1.0, nothing), family.a);
    EXPECT_EQ(child_of(family, {.mode = SpliceMode::uniform}, 1.0, nothing), family.a);
}

TEST(Splice, UnlikeGenesStayWithTheFitter) {
    Family family;
    for (float& weight : family.b.weights) {
        weight = -weight;
    }
    SpliceReport report;
    EXPECT_EQ(child_of(family, {}, 1.0, 1.0, &report), family.a);
    EXPECT_EQ(report.mixed, 0);
    EXPECT_EQ(report.inherited, 4);
    EXPECT_LT(report.genes.at(0).similarity, 0.0);
}

TEST(Splice, PointCutsEveryTensor) {
    const Family family;
    const SpliceSettings settings{.mode = SpliceMode::point, .split = 0.25F};
    const Genome child = child_of(family, settings, 2.0, 1.0);
    const Network network(child.blueprint);
    for (const WeightRange& range : network.weights()) {
        const std::int64_t kept = range.count / 4;
        for (std::int64_t i = 0; i < range.count; ++i) {
            const auto at = static_cast<std::size_t>(range.offset + i);
            EXPECT_EQ(child.weights[at], (i < kept ? family.a : family.b).weights[at]) << at;
        }
    }
}

TEST(Splice, PointAtEqualFitnessDrawsTheEnd) {
    const Family family;
    int first = 0;
    for (std::uint64_t id = 0; id < 64; ++id) {
        RandomStream rng = stream(id);
        const Genome child = splice(rng, {.mode = SpliceMode::point}, family.a, 1.0, family.b, 1.0);
        first += child.weights[0] == family.a.weights[0] ? 1 : 0;
    }
    EXPECT_GT(first, 16);
    EXPECT_LT(first, 48);
}

TEST(Splice, ChildKeepsFitterParentsExcessGenes) {
    Family family;
    RandomStream rng = stream(5);
    family.a =
        testing::mutated(insert_layer, rng, {.layer_types = {"dense"}}, {}, family.a, 1).value();
    family.a = testing::mutated(add_link, rng, {}, {}, family.a, 2).value();
    family.b = testing::mutated(add_link, rng, {}, {}, family.b, 3).value();
    SpliceReport report;
    const Genome child = child_of(family, {}, 2.0, 1.0, &report);
    check(child);
    EXPECT_EQ(child.blueprint, family.a.blueprint);
    EXPECT_EQ(child.slot_genes, family.a.slot_genes);
    EXPECT_EQ(child.link_genes, family.a.link_genes);
    EXPECT_EQ(report.mixed, 4);
    EXPECT_GE(report.inherited, 1);
    EXPECT_EQ(report.mixed + report.inherited, 6);
}

TEST(Splice, MatchesMovedWeightsByGeneNotByPlace) {
    Family family;
    RandomStream rng = stream(5);
    family.b =
        testing::mutated(insert_layer, rng, {.layer_types = {"dense"}}, {}, family.b, 1).value();
    SpliceReport report;
    const Genome child = child_of(family, {}, 1.0, 1.0, &report);
    EXPECT_EQ(child.weights.size(), family.a.weights.size());
    EXPECT_EQ(report.mixed, 4);
    EXPECT_EQ(report.genes.back().name, "head");
    EXPECT_GT(report.genes.back().share, 0.4);
}

TEST(Splice, MixesNestedLayers) {
    const Family family;
    const Genome child = child_of(family, {}, 1.0, 1.0);
    for (const GeneWeights& gene : gene_weights(child.blueprint)) {
        if (gene.slot == 4) {
            ASSERT_GT(gene.count, 0);
            const auto ours = weights_of(child, gene);
            const auto theirs = weights_of(family.a, gene);
            EXPECT_FALSE(std::equal(ours.begin(), ours.end(), theirs.begin()));
        }
    }
}

TEST(Splice, GenesOfOtherShapesAreInherited) {
    Family family;
    Blueprint wider = blueprint(
        3, {{"dense", 8, Activation::tanh}, {}, {"rms_norm", 8}, {}, {"residual", 8}, {}}, 2);
    family.b = founder(wider);
    SpliceReport report;
    EXPECT_EQ(child_of(family, {}, 1.0, 1.0, &report), family.a);
    EXPECT_EQ(report.mixed, 0);
    EXPECT_EQ(report.inherited, 4);
    EXPECT_TRUE(report.genes.empty());
}

TEST(Splice, ReportCountsWhatWasMixed) {
    const Family family;
    SpliceReport report;
    const Genome child = child_of(family, {.mode = SpliceMode::uniform}, 1.0, 1.0, &report);
    std::int64_t weights = 0;
    for (const SplicedGene& gene : report.genes) {
        EXPECT_GT(gene.share, 0.0) << gene.name;
        weights += gene.weights;
    }
    EXPECT_EQ(report.genes.size(), 4U);
    EXPECT_EQ(report.mixed, 4);
    EXPECT_EQ(weights, static_cast<std::int64_t>(child.weights.size()));
    EXPECT_EQ(report.genes[1].name, "slot 2");
}

/// Whether each weight of a child is one parent's or the other's: 0, 1, or 2 for neither.
std::vector<int> origins(const Family& family, const Genome& child) {
    std::vector<int> all;
    for (std::size_t i = 0; i < child.weights.size(); ++i) {
        const float weight = child.weights[i];
        all.push_back(weight == family.a.weights[i] ? 0 : weight == family.b.weights[i] ? 1 : 2);
    }
    return all;
}

TEST(Splice, ByGeneTakesWholeLayers) {
    const Family family;
    std::set<std::vector<int>> seen;
    for (std::uint64_t id = 0; id < 40; ++id) {
        RandomStream rng = stream(id);
        const Genome child = splice(rng, {.mode = SpliceMode::gene}, family.a, 1.0, family.b, 1.0);
        const std::vector<int> from = origins(family, child);
        std::vector<int> genes;
        for (const GeneWeights& gene : gene_weights(child.blueprint)) {
            if (gene.count == 0) {
                continue;
            }
            const auto first = from.begin() + gene.offset;
            EXPECT_TRUE(std::all_of(first, first + gene.count, [&](int x) { return x == *first; }));
            genes.push_back(*first);
        }
        seen.insert(genes);
    }
    EXPECT_GT(seen.size(), 6U);
}

TEST(Splice, ByNeuronTakesRowsWithTheirBias) {
    const Family family;
    const GeneWeights gene = gene_weights(family.a.blueprint).front();  // dense 3 to 6
    int mixed = 0;
    for (std::uint64_t id = 0; id < 20; ++id) {
        RandomStream rng = stream(id);
        const Genome child =
            splice(rng, {.mode = SpliceMode::neuron}, family.a, 1.0, family.b, 1.0);
        const std::vector<int> from = origins(family, child);
        std::set<int> parents;
        for (std::int64_t unit = 0; unit < 6; ++unit) {
            const auto row = from.begin() + gene.offset + 3 * unit;
            const int bias = *(from.begin() + gene.offset + 18 + unit);
            EXPECT_EQ(std::vector<int>(row, row + 3), std::vector<int>(3, bias)) << unit;
            parents.insert(bias);
        }
        mixed += parents.size() == 2 ? 1 : 0;
    }
    EXPECT_GT(mixed, 10);
}

TEST(Splice, ByNeuronKeepsTheGatesOfAUnitTogether) {
    Family family;
    family.a = founder(testing::blueprint(2, {{"gru", 3}}, 1));
    family.b = founder(family.a.blueprint, 0, 8);
    for (std::uint64_t id = 0; id < 10; ++id) {
        RandomStream rng = stream(id);
        const std::vector<int> from = origins(
            family, splice(rng, {.mode = SpliceMode::neuron}, family.a, 1.0, family.b, 1.0));
        for (std::size_t unit = 0; unit < 3; ++unit) {
            for (std::size_t gate = 1; gate < 3; ++gate) {
                EXPECT_EQ(from[2 * unit], from[2 * (3 * gate + unit)]);       // weight_ih [3, 3, 2]
                EXPECT_EQ(from[2 * unit], from[18 + 3 * (3 * gate + unit)]);  // weight_hh
            }
        }
    }
}

/// Which parent each weight of some children by neuron comes from; all weights of the parents
/// differ.
std::vector<std::vector<int>> origins_by_neuron(const std::string& layers, std::int64_t inputs,
                                                const std::string& rest = "") {
    Family family;
    family.a = founder(test::blueprint_of(
        R"({"layers": [)" + layers + R"(, {"type": "dense"}])" + rest + "}", inputs, 2));
    family.b = family.a;
    for (float& weight : family.b.weights) {
        weight += 1.0F;
    }
    std::vector<std::vector<int>> all;
    for (std::uint64_t id = 0; id < 20; ++id) {
        RandomStream rng = stream(id);
        all.push_back(origins(
            family, splice(rng, {.mode = SpliceMode::neuron}, family.a, 1.0, family.b, 1.0)));
    }
    return all;
}

/// Whether weights come from the same parent in every child.
bool go_together(const std::vector<std::vector<int>>& children, std::size_t i, std::size_t j) {
    return std::ranges::all_of(children, [&](const auto& from) { return from[i] == from[j]; });
}

TEST(Splice, ByNeuronTakesAChannelOfAMambaWithAllThatItReads) {
    const auto children = origins_by_neuron(
        R"({"type": "mamba", "expand": 1, "state": 2, "kernel": 2, "dt_rank": 1})", 3);
    // norm.gain [3], in_proj [2, 3, 3], conv_weight [3, 2], conv_bias [3], x_proj [5, 3],
    // dt_proj [3, 1], dt_bias [3], a_log [3, 2], skip [3], out_proj [3, 3].
    for (std::size_t channel = 0; channel < 3; ++channel) {
        const std::size_t first = 3 + 3 * channel;
        for (const std::size_t other :
             {first + 2, first + 9, 21 + 2 * channel, 27 + channel, 45 + channel, 48 + channel,
              51 + 2 * channel, 57 + channel}) {
            EXPECT_TRUE(go_together(children, first, other)) << channel << ", " << other;
        }
        // What the block gives has as many units, which are others.
        EXPECT_FALSE(go_together(children, first, channel));
        EXPECT_FALSE(go_together(children, first, 60 + 3 * channel));
    }
    EXPECT_FALSE(go_together(children, 3, 6));
}

TEST(Splice, ByNeuronKnowsTheGroupsOfATransposedConvolution) {
    const auto children = origins_by_neuron(
        R"({"type": "conv_transpose1d", "out_channels": 4, "kernel": 2, "groups": 2})", 16,
        R"(, "input": [4, 4])");
    // Kernel [4 inputs, 2 of a group, 2], bias [4].
    for (std::size_t unit = 0; unit < 4; ++unit) {
        const std::size_t group = unit / 2;
        for (const std::size_t input : {2 * group, 2 * group + 1}) {
            for (std::size_t tap = 0; tap < 2; ++tap) {
                EXPECT_TRUE(go_together(children, 4 * input + 2 * (unit % 2) + tap, 16 + unit));
            }
        }
        EXPECT_FALSE(go_together(children, 16 + unit, 16 + (unit + 1) % 4));
    }
}

TEST(Splice, ByNeuronKeepsEqualNumbersOfOtherUnitsApart) {
    // Gate, up and down [3, 3] each, then their biases.
    const auto gated = origins_by_neuron(R"({"type": "swiglu", "hidden": 3})", 3);
    for (std::size_t unit = 0; unit < 3; ++unit) {
        EXPECT_TRUE(go_together(gated, 3 * unit, 9 + 3 * unit));
        EXPECT_TRUE(go_together(gated, 3 * unit, 27 + unit));
        EXPECT_TRUE(go_together(gated, 18 + 3 * unit, 33 + unit));
        EXPECT_FALSE(go_together(gated, 3 * unit, 18 + 3 * unit));
    }
    // Two layers [3, 3] with biases in one gene.
    const auto nested = origins_by_neuron(
        R"({"type": "residual", "layers": [{"type": "dense", "out": 3}, {"type": "dense"}]})", 3);
    for (std::size_t unit = 0; unit < 3; ++unit) {
        EXPECT_TRUE(go_together(nested, 3 * unit, 9 + unit));
        EXPECT_TRUE(go_together(nested, 12 + 3 * unit, 21 + unit));
        EXPECT_FALSE(go_together(nested, 3 * unit, 12 + 3 * unit));
    }
    // One head of each unit: queries, keys and values [3, 3] go together, what is given is others.
    const auto heads = origins_by_neuron(R"({"type": "multi_head_attention", "heads": 3})", 3);
    for (std::size_t unit = 0; unit < 3; ++unit) {
        EXPECT_TRUE(go_together(heads, 3 * unit, 18 + 3 * unit));
        EXPECT_FALSE(go_together(heads, 3 * unit, 27 + 3 * unit));
    }
}

TEST(Splice, ByNeuronKnowsTheUnitsOfInnerLayers) {
    const auto children =
        origins_by_neuron(R"({"type": "sequential", "layers": [{"type": "gru", "hidden": 3}]})", 2);
    for (std::size_t unit = 0; unit < 3; ++unit) {
        EXPECT_TRUE(go_together(children, 2 * unit, 6 + 2 * unit));       // weight_ih [3, 3, 2]
        EXPECT_TRUE(go_together(children, 2 * unit, 18 + 9 + 3 * unit));  // weight_hh
    }
    EXPECT_FALSE(go_together(children, 0, 2));
}

TEST(Splice, ByNeuronTakesANeuronWithItsConnections) {
    const auto children = origins_by_neuron(
        R"({"type": "neurons", "in": 2, "out": 2, "neurons": [{}, {}], "connections": [
            {"source": 0, "target": 1}, {"source": 1, "target": 0}, {"source": 1, "target": 1}]})",
        2);
    // Three weights, then the biases.
    EXPECT_TRUE(go_together(children, 0, 4));
    EXPECT_TRUE(go_together(children, 1, 3));
    EXPECT_TRUE(go_together(children, 2, 4));
    EXPECT_FALSE(go_together(children, 3, 4));
}

TEST(Splice, AfterAlignmentOfTwinsIsTheTwin) {
    Family family;
    family.a = founder(testing::blueprint(3, {{"dense", 5, Activation::tanh}}, 2));
    family.b = family.a;
    // The same network with its first two units in the other order.
    auto& weights = family.b.weights;
    std::swap_ranges(weights.begin(), weights.begin() + 3, weights.begin() + 3);
    std::swap(weights[15], weights[16]);
    std::swap(weights[20], weights[21]);
    std::swap(weights[25], weights[26]);
    EXPECT_NE(child_of(family, {}, 1.0, 1.0).weights, family.a.weights);
    SpliceReport report;
    const Genome child = child_of(family, {.align = SpliceAlign::permutation}, 1.0, 1.0, &report);
    EXPECT_EQ(child.weights, family.a.weights);
    ASSERT_EQ(report.child.size(), 2U);
    EXPECT_NEAR(similarity(report.fitter[0], report.other[0]), 1.0, 1e-6);
    EXPECT_NEAR(similarity(report.child[0], report.other[0]), 1.0, 1e-6);
}

}  // namespace
}  // namespace cambrian::evolve::splice_test
