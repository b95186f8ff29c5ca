#include "cambrian/evolve/genome/distance.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "cambrian/evolve/variation/mutation.hpp"
#include "cambrian/tests/evolve/support/genome_support.hpp"

namespace cambrian::evolve {
namespace {

using testing::blueprint;
using testing::founder;
using testing::mixed_blueprint;

/// A genome as a comparison sees it, one weight a gene; genes are named by numbers.
struct Written {
    History history;
    std::vector<float> weights;
    void gene(std::uint64_t id, std::uint64_t born, float weight, std::uint64_t form = 1) {
        history.genes.push_back({.id = {0, id},
                                 .born = born,
                                 .form = form,
                                 .offset = static_cast<std::int64_t>(weights.size()),
                                 .count = 1});
        history.last_born = std::max(history.last_born, born);
        weights.push_back(weight);
    }
    [[nodiscard]] Compared compared() const { return {history, weights}; }
};

/// The example of the paper: genes 1 to 5 match, 6 and 7 are disjoint in one and 8 in the other,
/// 9 and 10 are excess.
struct Example {
    Written a;
    Written b;
    Example() {
        for (std::uint64_t id = 1; id <= 5; ++id) {
            a.gene(id, id, 1.0F);
            b.gene(id, id, 1.5F);
        }
        a.gene(8, 8, 9.0F);
        b.gene(6, 6, 9.0F);
        b.gene(7, 7, 9.0F);
        b.gene(9, 9, 9.0F);
        b.gene(10, 10, 9.0F);
    }
    [[nodiscard]] double operator()(const DistanceSettings& settings) const {
        const double there = distance(a.compared(), b.compared(), settings);
        EXPECT_EQ(there, distance(b.compared(), a.compared(), settings));
        return there;
    }
};

TEST(Distance, OfTheExampleOfThePaperByHand) {
    const Example example;
    EXPECT_EQ(example({.excess = 1.0, .disjoint = 0.0, .weight = 0.0}), 2.0);
    EXPECT_EQ(example({.excess = 0.0, .disjoint = 1.0, .weight = 0.0}), 3.0);
    EXPECT_EQ(example({.excess = 0.0, .disjoint = 0.0, .weight = 1.0}), 0.5);
    EXPECT_EQ(example({}), 2.0 + 3.0 + 0.4 * 0.5);
    // From nine genes on the counts are shares of the larger genome.
    EXPECT_EQ(example({.small_genome = 9}), (2.0 + 3.0) / 9.0 + 0.4 * 0.5);
    EXPECT_EQ(example({.small_genome = 10}), 2.0 + 3.0 + 0.4 * 0.5);
}

TEST(Distance, GenesOfAnotherFormAreDisjointOnce) {
    Written a;
    Written b;
    a.gene(1, 0, 0.0F);
    b.gene(1, 0, 2.0F);
    a.gene(2, 0, 0.0F, 1);
    b.gene(2, 0, 100.0F, 2);
    b.gene(3, 5, 1.0F);
    EXPECT_EQ(distance(a.compared(), b.compared(), {.excess = 0.0}), 1.0 + 0.4 * 2.0);
    EXPECT_EQ(distance(b.compared(), a.compared(), {.excess = 0.0}), 1.0 + 0.4 * 2.0);
    const GeneCounts counts = count_genes(a.history, b.history);
    EXPECT_EQ(counts.matching, 1);
    EXPECT_EQ(counts.disjoint, 1);
    EXPECT_EQ(counts.excess, 1);
}

TEST(Distance, OfAWidenedNetworkCountsTheLayerAndItsReader) {
    const Genome base = founder(blueprint(3, {{"dense", 6}, {"dense", 6}}, 2));
    RandomStream rng(random_key(2, "test"), 1);
    const Genome wide = testing::mutated(widen_layer, rng, {}, {}, base, 1).value();
    const GeneCounts counts = count_genes(history_of(base), history_of(wide));
    EXPECT_EQ(counts.matching, 1);
    EXPECT_EQ(counts.disjoint, 2);
    EXPECT_EQ(distance(base, wide), 2.0);
}

TEST(Distance, OfGenomesWithoutACommonGeneHasNoWeights) {
    Written a;
    Written b;
    a.gene(1, 0, 5.0F);
    b.gene(2, 0, 7.0F);
    EXPECT_EQ(distance(a.compared(), b.compared(), {}), 2.0);
}

TEST(Distance, CountsExcessAndDisjointGenes) {
    const Genome base = founder(mixed_blueprint(), 0);
    RandomStream rng(random_key(1, "test"), 1);
    const MutationSettings settings;
    const Genome older =
        testing::mutated(insert_layer, rng, {.layer_types = {"dense"}}, {}, base, 10).value();
    const Genome linked = testing::mutated(add_link, rng, settings, {}, base, 20).value();
    const DistanceSettings excess_only{
        .excess = 1.0, .disjoint = 0.0, .weight = 0.0, .small_genome = 0};
    const DistanceSettings disjoint_only{
        .excess = 0.0, .disjoint = 1.0, .weight = 0.0, .small_genome = 0};
    EXPECT_EQ(distance(base, base), 0.0);
    EXPECT_NEAR(distance(base, older, excess_only), 1.0 / 5.0, 1e-12);
    EXPECT_EQ(distance(base, older, disjoint_only), 0.0);
    EXPECT_NEAR(distance(older, linked, excess_only), 1.0 / 5.0, 1e-12);
    EXPECT_NEAR(distance(older, linked, disjoint_only), 1.0 / 5.0, 1e-12);
    EXPECT_EQ(distance(older, linked), distance(linked, older));
}

TEST(Distance, WeightTermIsTheMeanAbsoluteDifference) {
    const Genome base = founder(mixed_blueprint());
    Genome moved = base;
    for (float& weight : moved.weights) {
        weight += 0.5F;
    }
    EXPECT_NEAR(distance(base, moved), 0.4 * 0.5, 1e-6);
}

/// Every operator leaves a genome whose history names each gene once, with its weights.
TEST(History, NamesEachGeneOnceInTheOrderOfIds) {
    Genome genome = founder(mixed_blueprint());
    RandomStream rng(random_key(4, "test"), 1);
    for (std::uint64_t birth = 1; birth < 20; ++birth) {
        if (const auto next = testing::mutated(birth % 2 == 0 ? insert_layer : add_link, rng, {},
                                               {}, genome, birth)) {
            genome = *next;
        }
    }
    const Individual individual(genome);
    const History& history = individual.structure->history();
    EXPECT_EQ(history.genes.size(), individual.structure->genes().size());
    std::int64_t weights = 0;
    for (std::size_t i = 0; i < history.genes.size(); ++i) {
        EXPECT_TRUE(i == 0 || history.genes[i - 1].id < history.genes[i].id);
        EXPECT_LE(history.genes[i].born, history.last_born);
        weights += history.genes[i].count;
    }
    EXPECT_EQ(weights, individual.structure->weight_count());
    EXPECT_EQ(distance(individual, individual, {}), 0.0);
}

TEST(History, FormsAreEqualWhereWeightsMeanTheSame) {
    const Genome wide = founder(blueprint(3, {{"dense", 6}, {"dense", 6}}, 2));
    const Genome narrow = founder(blueprint(3, {{"dense", 6}, {"dense", 5}}, 2));
    const auto forms = [](const Genome& genome) {
        std::vector<std::uint64_t> found;
        const Structure structure(genome);
        for (const HistoricalGene& gene : structure.history().genes) {
            found.push_back(gene.form);
        }
        return found;
    };
    const auto a = forms(wide);
    const auto b = forms(narrow);
    ASSERT_EQ(a.size(), b.size());
    std::size_t same = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        same += a[i] == b[i] ? 1U : 0U;
    }
    EXPECT_EQ(same, 1U);  // the first layer; the second and the head read or give other widths
}

}  // namespace
}  // namespace cambrian::evolve
