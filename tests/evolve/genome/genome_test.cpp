#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/genome/genome_layout.hpp"
#include "cambrian/tests/evolve/support/genome_support.hpp"

namespace cambrian::evolve {
namespace {

using testing::blueprint;
using testing::founder;
using testing::mixed_blueprint;

Blueprint linked_blueprint() {
    Blueprint result = mixed_blueprint();
    result.links = {{input_port, 2, LinkKind::forward},
                    {0, 4, LinkKind::forward},
                    {2, 0, LinkKind::backward},
                    {4, 6, LinkKind::forward}};
    return result;
}

TEST(Genome, LayoutAgreesWithTheNetwork) {
    const Network network(linked_blueprint());
    const Blueprint& built = network.blueprint();
    std::size_t next = 0;
    std::int64_t end = 0;
    for (const GeneWeights& gene : gene_weights(built)) {
        EXPECT_EQ(gene.offset, end);
        for (const ParameterSpec& parameter : gene_parameters(built, gene)) {
            ASSERT_LT(next, network.weights().size());
            const WeightRange& range = network.weights()[next++];
            EXPECT_EQ(range.slot, gene.slot);
            EXPECT_EQ(range.link, gene.link);
            EXPECT_EQ(range.offset, end) << range.offset;
            EXPECT_EQ(range.parameter.shape, parameter.shape) << range.offset;
            EXPECT_EQ(range.parameter.initial, parameter.initial) << range.offset;
            EXPECT_EQ(range.parameter.fan_in, parameter.fan_in) << range.offset;
            end += range.count;
        }
        EXPECT_EQ(gene.offset + gene.count, end);
    }
    EXPECT_EQ(next, network.weights().size());
    EXPECT_EQ(end, network.weight_count());
}

TEST(Genome, ShapesAgreeWithTheNetwork) {
    const Network network(linked_blueprint());
    const std::vector<Shape> shapes = chain_shapes(network.blueprint());
    ASSERT_EQ(static_cast<std::int64_t>(shapes.size()), network.slot_count() + 1);
    for (int slot = 0; slot <= network.slot_count(); ++slot) {
        EXPECT_EQ(shapes[static_cast<std::size_t>(slot)], network.shape_before(slot)) << slot;
    }
}

TEST(Genome, FoundersShareGeneIdsAndDifferInWeights) {
    const Genome first = founder(linked_blueprint(), 1);
    const Genome second = founder(linked_blueprint(), 2);
    check(first);
    ASSERT_EQ(first.slot_genes.size(), second.slot_genes.size());
    for (std::size_t slot = 0; slot < first.slot_genes.size(); ++slot) {
        EXPECT_EQ(first.slot_genes[slot].id, second.slot_genes[slot].id);
    }
    EXPECT_EQ(first.link_genes.at(1).id, second.link_genes.at(1).id);
    EXPECT_EQ(first.head_gene.id, second.head_gene.id);
    EXPECT_EQ(first.head_gene.born, 1U);
    EXPECT_EQ(second.head_gene.born, 2U);
    EXPECT_NE(first.weights, second.weights);
}

TEST(Genome, HistoricalIdDependsOnEveryPart) {
    const Hash128 id = historical_id({1, 2}, "insert", "dense", 0);
    EXPECT_EQ(id, historical_id({1, 2}, "insert", "dense", 0));
    EXPECT_NE(id, historical_id({2, 1}, "insert", "dense", 0));
    EXPECT_NE(id, historical_id({1, 2}, "layer_type", "dense", 0));
    EXPECT_NE(id, historical_id({1, 2}, "insert", "rms_norm", 0));
    EXPECT_NE(id, historical_id({1, 2}, "insert", "dense", 1));
}

TEST(Genome, HistoricalIdIsTheSameInEveryProcess) {
    EXPECT_EQ(historical_id({}, "founder", "dense", 0).hex(), "ba73ef280a2407333916c7f5b4816d93");
}

TEST(Genome, CheckRefusesWhatIsNotValid) {
    const Genome good = founder(linked_blueprint());
    Genome twin = good;
    twin.slot_genes[2].id = twin.slot_genes[0].id;
    EXPECT_THROW(check(twin), ContractViolation);
    Genome short_of_weights = good;
    short_of_weights.weights.pop_back();
    EXPECT_THROW(check(short_of_weights), ContractViolation);
    Genome infinite = good;
    infinite.weights[3] = std::numeric_limits<float>::infinity();
    EXPECT_THROW(check(infinite), ContractViolation);
    Genome ghost = good;
    ghost.slot_genes[1] = {{5, 5}, 0};
    EXPECT_THROW(check(ghost), ContractViolation);
    Genome nameless = good;
    nameless.head_gene = {};
    EXPECT_THROW(check(nameless), ContractViolation);
    Genome misfit = good;
    misfit.blueprint.slots[0].reset();
    misfit.slot_genes[0] = {};
    EXPECT_THROW(check(misfit), ContractViolation);
}

TEST(Genome, AWidthLeftOpenIsNotDecoded) {
    // Its weights fit once the width is inferred, but everything that reads the genome as it is
    // would find them in other places.
    Genome open = founder(blueprint(3, {{"dense", 4}}, 2));
    std::get<Dense>(open.blueprint.slots[0]->layer.variant()).in = 0;
    EXPECT_THROW((void)decode_genome(encode(open), "open"), InputError);
}

TEST(Genome, SurvivesEncoding) {
    Genome genome = founder(linked_blueprint());
    genome.blueprint.slots[2]->enabled = false;
    const Genome back = decode_genome(encode(genome), "test");
    EXPECT_EQ(back, genome);
    EXPECT_EQ(content_hash(back), content_hash(genome));
}

TEST(Genome, DamagedBytesAreAnInputErrorOrAnotherValidGenome) {
    const std::vector<std::byte> bytes = encode(founder(mixed_blueprint()));
    for (std::size_t length = 0; length < bytes.size(); length += 1 + length / 16) {
        EXPECT_THROW((void)decode_genome(std::span(bytes).first(length), "cut"), InputError);
    }
    int refused = 0;
    for (std::size_t at = 0; at < bytes.size(); at += 3) {
        std::vector<std::byte> damaged = bytes;
        damaged[at] ^= std::byte{0xFF};
        try {
            check(decode_genome(damaged, "damaged"));
        } catch (const InputError& error) {
            EXPECT_NE(std::string(error.what()).find("damaged"), std::string::npos);
            ++refused;
        }
    }
    EXPECT_GT(refused, 50);
    std::vector<std::byte> longer = bytes;
    longer.push_back(std::byte{0});
    EXPECT_THROW((void)decode_genome(longer, "longer"), InputError);
}

TEST(Genome, ContentHashSeesEveryPart) {
    const Genome genome = founder(linked_blueprint());
    const Hash128 hash = content_hash(genome);
    EXPECT_EQ(content_hash(Genome(genome)), hash);
    const auto changed = [&genome](const auto& change) {
        Genome other = genome;
        change(other);
        return content_hash(other);
    };
    EXPECT_NE(changed([](Genome& g) { g.weights.back() += 1.0F; }), hash);
    EXPECT_NE(changed([](Genome& g) { std::swap(g.weights[0], g.weights[1]); }), hash);
    EXPECT_NE(changed([](Genome& g) { g.blueprint.slots[2]->enabled = false; }), hash);
    EXPECT_NE(changed([](Genome& g) { g.slot_genes[0].born = 9; }), hash);
    EXPECT_NE(changed([](Genome& g) { g.head_gene.id.low ^= 1U; }), hash);
    EXPECT_NE(changed([](Genome& g) { g.link_genes[0].id.high ^= 1U; }), hash);
    EXPECT_NE(changed([](Genome& g) { g.blueprint.links[0].target = 4; }), hash);
    const auto activate = [](Genome& g) {
        testing::activate_all(g.blueprint.slots[4]->layer, Activation::relu);
    };
    EXPECT_NE(changed(activate), hash);
}

}  // namespace
}  // namespace cambrian::evolve
