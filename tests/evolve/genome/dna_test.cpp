#include "cambrian/evolve/genome/dna.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "cambrian/tests/evolve/support/genome_support.hpp"

namespace cambrian::evolve {
namespace {

using testing::blueprint;
using testing::founder;
using testing::mixed_blueprint;

/// Copies the weights of one slot over those of another of the same shape.
void copy_slot(const Genome& source, int from, Genome& target, int to) {
    const Network source_network(source.blueprint);
    const Network target_network(target.blueprint);
    std::vector<float> values;
    for (const WeightRange& range : source_network.weights()) {
        if (range.slot == from) {
            const auto first = source.weights.begin() + range.offset;
            values.insert(values.end(), first, first + range.count);
        }
    }
    auto next = values.begin();
    for (const WeightRange& range : target_network.weights()) {
        if (range.slot == to) {
            std::copy_n(next, range.count, target.weights.begin() + range.offset);
            next += range.count;
        }
    }
}

Blueprint equal_layers() {
    return blueprint(6, {{"dense", 6}, {"dense", 6}, {"dense", 6}, {"dense", 6}}, 2);
}

TEST(Dna, ListsFilledSlotsThenTheHead) {
    Genome genome = founder(mixed_blueprint());
    genome.blueprint.slots[2]->enabled = false;
    const Dna signatures = dna(genome);
    ASSERT_EQ(signatures.size(), 4U);
    EXPECT_EQ(signatures[0].slot, 0);
    EXPECT_EQ(signatures[1].slot, 2);
    EXPECT_EQ(signatures[1].type, "rms_norm");
    EXPECT_FALSE(signatures[1].enabled);
    EXPECT_EQ(signatures[2].slot, 4);
    EXPECT_EQ(signatures[3].slot, 6);
    for (const LayerSignature& signature : signatures) {
        double norm = 0.0;
        for (const float value : signature.direction) {
            norm += static_cast<double>(value) * static_cast<double>(value);
        }
        EXPECT_NEAR(norm, 1.0, 1e-5) << signature.slot;
    }
}

TEST(Dna, StructureSeesActivations) {
    const Genome genome = founder(mixed_blueprint());
    Genome other = genome;
    testing::activate_all(other.blueprint.slots[0]->layer, Activation::relu);
    EXPECT_NE(dna(genome)[0].structure, dna(other)[0].structure);
    EXPECT_EQ(dna(genome)[1].structure, dna(other)[1].structure);
}

TEST(Similarity, OtherConnectionsAreNoWeightsInCommon) {
    const auto wired = [](std::int64_t source) {
        Neurons layer;
        layer.in = 2;
        layer.out = 1;
        layer.neurons = {{}};
        layer.connections = {{.source = source, .target = 0}};
        Blueprint blueprint;
        blueprint.input_features = 2;
        blueprint.output_features = 1;
        blueprint.slots.resize(static_cast<std::size_t>(blueprint.grid.slots()));
        blueprint.head = layer;
        Genome genome = founder_genome(blueprint, 0);
        genome.weights.assign(static_cast<std::size_t>(Network(genome.blueprint).weight_count()),
                              0.5F);
        return genome;
    };
    const Dna first = dna(wired(0));
    EXPECT_NEAR(similarity(first.back(), dna(wired(0)).back()), 1.0, 1e-6);
    EXPECT_EQ(similarity(first.back(), dna(wired(1)).back()), 0.0);
}

TEST(Similarity, OfEqualLayersIsOneExactly) {
    for (std::uint64_t id = 0; id < 20; ++id) {
        const Genome genome = founder(mixed_blueprint(), id);
        for (const LayerSignature& signature : dna(genome)) {
            EXPECT_EQ(similarity(signature, signature), 1.0) << id;
        }
        EXPECT_EQ(compare(genome, genome).overall, 1.0);
    }
}

TEST(Similarity, ZeroVectorsAndForeignTypes) {
    LayerSignature a{.type = "dense", .structure = {}, .direction = {0.6F, 0.8F}};
    LayerSignature b = a;
    EXPECT_NEAR(similarity(a, b), 1.0, 1e-6);
    b.direction = {-0.6F, -0.8F};
    EXPECT_NEAR(similarity(a, b), -1.0, 1e-6);
    b.type = "rms_norm";
    EXPECT_EQ(similarity(a, b), 0.0);
    b = a;
    b.direction.push_back(0.0F);
    EXPECT_EQ(similarity(a, b), 0.0);
    b.direction = {0.0F, 0.0F};
    EXPECT_EQ(similarity(a, b), 0.0);
    a.direction = b.direction;
    EXPECT_EQ(similarity(a, b), 1.0);
}

TEST(Compare, AGenomeIsItself) {
    const Genome genome = founder(equal_layers());
    const Comparison result = compare(genome, genome);
    EXPECT_EQ(result.overlaps.size(), 5U);
    EXPECT_NEAR(result.overall, 1.0, 1e-6);
    EXPECT_NEAR(result.matched, 1.0, 1e-6);
    EXPECT_TRUE(result.shifts.empty());
    EXPECT_EQ(result.distance, 0.0);
}

TEST(Compare, WeighsGenesAsItIsTold) {
    const Genome a = founder(equal_layers(), 1);
    const Genome b = founder(equal_layers(), 2);
    const DistanceSettings weights{.weight = 3.0};
    EXPECT_NE(distance(a, b, weights), distance(a, b));
    for (const DnaMode mode : {DnaMode::strict, DnaMode::permutation}) {
        EXPECT_EQ(compare(a, a, mode, weights).distance, 0.0);
    }
    EXPECT_EQ(compare(a, b, DnaMode::strict, weights).distance, distance(a, b, weights));
    EXPECT_EQ(compare(a, b).distance, distance(a, b));
}

TEST(Compare, WeightlessLayersNeverShift) {
    Blueprint description =
        blueprint(6, {{"dense", 6}, {"residual", 6}, {"residual", 6}, {"residual", 6}}, 2);
    for (std::size_t slot = 1; slot < 4; ++slot) {
        description.slots[slot]->layer = Residual{.layers = {}, .features = 6};
    }
    const Genome genome = founder(description);
    const Comparison result = compare(genome, genome);
    EXPECT_NEAR(result.overall, 1.0, 1e-6);
    EXPECT_TRUE(result.shifts.empty());
}

TEST(Compare, FindsAMovedLayer) {
    const Genome a = founder(equal_layers(), 1);
    Genome b = founder(equal_layers(), 2);
    copy_slot(a, 0, b, 3);
    const Comparison result = compare(a, b);
    ASSERT_EQ(result.shifts.size(), 1U);
    EXPECT_EQ(result.shifts[0].from, 0);
    EXPECT_EQ(result.shifts[0].to, 3);
    EXPECT_NEAR(result.shifts[0].overlap, 1.0, 1e-6);
    EXPECT_LT(result.matched, 0.8);
}

TEST(Compare, ALayerThatStayedHomeDoesNotShiftToItsCopy) {
    Genome a = founder(equal_layers(), 1);
    copy_slot(a, 0, a, 2);
    EXPECT_TRUE(compare(a, a).shifts.empty());
    Genome b = founder(equal_layers(), 2);
    copy_slot(a, 0, b, 0);
    EXPECT_TRUE(compare(a, b).shifts.empty());
}

TEST(Compare, ShiftsAreOneToOne) {
    Genome a = founder(equal_layers(), 1);
    copy_slot(a, 0, a, 1);
    Genome b = founder(equal_layers(), 2);
    copy_slot(a, 0, b, 3);
    const Comparison result = compare(a, b);
    ASSERT_EQ(result.shifts.size(), 1U);
    EXPECT_EQ(result.shifts[0].from, 0);
}

TEST(Compare, UnmatchedSlotsCountAgainstTheOverall) {
    const Genome full = founder(equal_layers());
    Blueprint smaller = equal_layers();
    smaller.slots[3].reset();
    Genome part = founder(smaller);
    for (const int slot : {0, 1, 2}) {
        copy_slot(full, slot, part, slot);
    }
    const double head = compare(full, part).overlaps.back().overlap;
    const Comparison result = compare(full, part);
    EXPECT_NEAR(result.matched, (3.0 + head) / 4.0, 1e-6);
    EXPECT_NEAR(result.overall, (3.0 + head) / 5.0, 1e-6);
}

TEST(Compare, GridsOfOtherSizesMeetByCoordinates) {
    const Genome small = founder(mixed_blueprint());
    Genome large = small;
    large.blueprint.grid.layers_per_cell = 3;  // slot 4 is now at [0, 0, 1, 1]
    large.blueprint.grid.cols = 2;
    const Comparison other = compare(small, large);
    ASSERT_EQ(other.overlaps.size(), 3U);
    EXPECT_EQ(other.overlaps[0].slot, 0);
    EXPECT_EQ(other.overlaps[1].slot, 2);
    EXPECT_EQ(other.overlaps[2].slot, 6);
    EXPECT_NEAR(other.matched, 1.0, 1e-6);
    EXPECT_NEAR(other.overall, 3.0 / 5.0, 1e-6);
    ASSERT_EQ(other.shifts.size(), 1U);
    EXPECT_EQ(other.shifts[0].from, 4);
    EXPECT_EQ(other.shifts[0].to, 4);
}

}  // namespace
}  // namespace cambrian::evolve
